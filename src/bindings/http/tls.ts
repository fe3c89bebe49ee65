/** Encryption: our own server's certificate, and whose certificates we take from others. Nothing here is process-wide. */
import type { SecureContext, SecureContextOptions } from "node:tls";
import { createSecureContext, rootCertificates } from "node:tls";
import { fromHome } from "../../lib/home.ts";
import { readRegular, real } from "../../lib/regular-file.ts";
import { oneLine } from "../../lib/text.ts";
import { A2AError } from "../../protocol/errors.ts";

/** Paths of files in PEM form; empty or absent: none. */
export interface TlsFiles {
	/** Authorities to trust. */
	readonly caFile?: string | undefined;
	/** What we show of ourselves, and its private key. */
	readonly cert?: string | undefined;
	readonly key?: string | undefined;
}

const MAX_BYTES = 1_000_000;

/** The text of a file in PEM form; undefined for none. Throws an error that names `setting`. */
async function pem(path: string | undefined, setting: string): Promise<string | undefined> {
	if (path === undefined || path === "") return undefined;
	try {
		const text = (await readRegular(await real(fromHome(path)), path, MAX_BYTES)).toString("utf8");
		if (!text.includes("-----BEGIN ")) throw new Error(`${path}: it is not in PEM form`);
		return text;
	} catch (error) {
		throw new Error(`${setting}: ${oneLine(error instanceof Error ? error.message : String(error), 300)}`);
	}
}

/** A context of these parts. Throws an error that names the settings. */
function contextOf(options: SecureContextOptions, settings: string): SecureContext {
	try {
		return createSecureContext(options);
	} catch (error) {
		const why = oneLine(error instanceof Error ? error.message : String(error), 200);
		throw new Error(`${settings} cannot be used together: ${why}`);
	}
}

/** What a TLS server of Node takes. */
export interface ServerTls {
	readonly cert: string;
	readonly key: string;
	readonly ca?: string;
	readonly requestCert?: true;
	readonly rejectUnauthorized?: true;
}

export interface ServerTlsFiles {
	readonly cert: string;
	readonly key: string;
	/** Authorities whose clients may connect; empty: anybody may. */
	readonly clientCa: string;
}

/** What the server is started with; undefined for plain http. Throws an error with one line that names the setting. */
export async function loadServerTls(files: ServerTlsFiles): Promise<ServerTls | undefined> {
	const [cert, key, ca] = await Promise.all([
		pem(files.cert, "server.tls.cert"),
		pem(files.key, "server.tls.key"),
		pem(files.clientCa, "server.tls.clientCa"),
	]);
	if (cert === undefined && key === undefined && ca === undefined) return undefined;
	if (cert === undefined || key === undefined) {
		const missing = cert === undefined ? "server.tls.cert" : "server.tls.key";
		throw new Error(`${missing} is not set; encryption needs server.tls.cert and server.tls.key`);
	}
	contextOf({ cert, key }, "server.tls.cert and server.tls.key");
	if (ca === undefined) return { cert, key };
	contextOf({ ca }, "server.tls.clientCa");
	return { cert, key, ca, requestCert: true, rejectUnauthorized: true };
}

/** How the certificate of one sort of peers is judged, and what is shown to them. */
export interface Trust {
	readonly secureContext: SecureContext;
	/** Absent: the certificate must be for the name that is called. */
	readonly checkServerIdentity?: () => undefined;
}

export interface Trusts {
	/** For a peer with settings of its own. `setting`: where they stand. Throws `InvalidRequestError` for what cannot be read. */
	of(files: TlsFiles | undefined, setting: string): Promise<Trust | undefined>;
	/**
	 * For sessions of this machine: they have our certificate, whatever name it is for, and whoever else has its private
	 * key could be us anyway.
	 */
	local(): Promise<Trust | undefined>;
}

/** `caFile` holds for every peer; `own`: what our own server has. Undefined of a trust: what Node trusts, nothing shown. */
export function createTrusts(caFile: string, own: Pick<ServerTlsFiles, "cert" | "key">): Trusts {
	/** By what it is made of: contexts are costly, and connections are kept for each. */
	const made = new Map<string, Promise<Trust>>();

	function once(key: string, make: () => Promise<Trust>): Promise<Trust> {
		const trust = made.get(key) ?? make();
		made.set(key, trust);
		// A file may be there the next time.
		trust.catch(() => made.delete(key));
		return trust.catch((cause: unknown) => {
			const text = cause instanceof Error ? cause.message : String(cause);
			throw new A2AError("InvalidRequestError", `${text}. Nothing was sent`, { cause });
		});
	}

	async function context(files: TlsFiles, setting: string, more: string | undefined): Promise<SecureContext> {
		const [general, ca, cert, key] = await Promise.all([
			pem(caFile, "tls.caFile"),
			pem(files.caFile, `${setting}.caFile`),
			pem(files.cert, `${setting}.cert`),
			pem(files.key, `${setting}.key`),
		]);
		if ((cert === undefined) !== (key === undefined))
			throw new Error(`${setting}.${cert === undefined ? "cert" : "key"} is not set; cert and key belong together`);
		const further = [general, ca, more].filter((each) => each !== undefined);
		return contextOf(
			{
				...(further.length > 0 ? { ca: [...rootCertificates, ...further] } : {}),
				...(cert === undefined || key === undefined ? {} : { cert, key }),
			},
			`the files of ${setting}`,
		);
	}

	return {
		async of(files = {}, setting) {
			const { caFile: ca = "", cert = "", key = "" } = files;
			if (caFile === "" && ca === "" && cert === "" && key === "") return undefined;
			return once(JSON.stringify([ca, cert, key]), async () => ({
				secureContext: await context(files, setting, undefined),
			}));
		},
		async local() {
			if (own.cert === "" || own.key === "") return undefined;
			return once("local", async () => ({
				secureContext: await context(own, "server.tls", await pem(own.cert, "server.tls.cert")),
				checkServerIdentity: () => undefined,
			}));
		},
	};
}
