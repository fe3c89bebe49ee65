/** Looks at the set-up for `/a2a-doctor`: everything that must be asked of the disk, the network and peers. */
import { constants } from "node:fs";
import { access, lstat, readdir, statfs } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { App } from "./app.ts";
import { httpRequest } from "./bindings/http/fetch.ts";
import { createHttpPool } from "./bindings/http/pool.ts";
import { CARD_PATHS } from "./bindings/http/serve-card.ts";
import { createTrusts } from "./bindings/http/tls.ts";
import type { Facts, FileFault, Look, PeerLook } from "./doctor-facts.ts";
import { urlCheck } from "./guard/urls.ts";
import type { Clock } from "./lib/clock.ts";
import { errorCode } from "./lib/errno.ts";
import { newId } from "./lib/ids.ts";
import { shownAddress } from "./peers/address.ts";
import type { Peer } from "./peers/peer.ts";
import { PeerError } from "./peers/reply.ts";
import { installHint } from "./peers/sources/mdns-install.ts";

export interface LookParts {
	readonly app: Pick<App, "loaded" | "server" | "outbound" | "gateways" | "mailbox">;
	readonly agentDir: string;
	readonly piVersion: string;
	readonly clock: Clock;
	readonly signal: AbortSignal;
	/** Whether the package for mDNS is installed. Default: looked up from here. */
	readonly hasMdns?: () => boolean;
}

/** For each address that is asked. */
const LOOK_MS = 2_000;
const AT_ONCE = 8;
/** Of many peers the first ones are asked. */
const MOST_PEERS = 200;

/**
 * Gathers what `diagnose` judges. Takes two seconds for every eight peers that do not answer. Throws when the agent
 * folder cannot be read.
 */
export async function lookAround(parts: LookParts): Promise<Facts> {
	const { app, agentDir, piVersion } = parts;
	const { config, problems } = app.loaded;
	const server = app.server.status();
	const reach = reacher(parts);
	const told = [server.url, config.publicUrl].filter((url): url is string => server.running && !!url);
	try {
		const [own, peers, files, auditProblem, freeBytes] = await Promise.all([
			Promise.all([...new Set(told)].map(async (url) => ({ url, look: await reach.card(url) }))),
			lookAtPeers(parts, reach),
			faultyFiles(agentDir),
			unwritable(join(agentDir, "a2a_audit.jsonl")),
			freeIn(agentDir),
		]);
		return {
			...{ problems, config, server, own, peers, files, auditProblem, freeBytes, piVersion },
			gateways: app.gateways(),
			mailbox: app.mailbox.status(),
			mdnsMissing: (parts.hasMdns ?? hasMdns)() ? undefined : installHint(),
			nodeVersion: process.versions.node,
		};
	} finally {
		reach.close();
	}
}

interface Reacher {
	/** Reads our own card below `base`. */
	card(base: string): Promise<Look>;
	/** Any answer from there will do; its clock is wanted. */
	date(peer: Peer, url: URL): Promise<number | undefined>;
	close(): void;
}

/** Plain requests, past every cache. */
function reacher({ app, clock, signal }: LookParts): Reacher {
	const { config } = app.loaded;
	const pool = createHttpPool();
	const trusts = createTrusts(config.tlsCaFile, { cert: config.tlsCert, key: config.tlsKey });
	const wire = {
		pool,
		check: urlCheck({ context: "configured" }),
		verifySsl: config.verifySsl,
		retryAttempts: 0,
		clock,
	};

	async function get(url: URL, trust: Awaited<ReturnType<typeof trusts.local>>) {
		const within = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
		const ask = { method: "GET", url, headers: { accept: "application/json" } } as const;
		const answer = await httpRequest(ask, { ...wire, trust }, within);
		answer.drop();
		const date = Date.parse(answer.headers.date ?? "");
		return { status: answer.status, date: Number.isNaN(date) ? undefined : date };
	}

	return {
		async card(base) {
			try {
				const url = new URL(CARD_PATHS[0].slice(1), base.endsWith("/") ? base : `${base}/`);
				const { status, date } = await get(
					url,
					await (base === app.server.status().url ? trusts.local() : trusts.of(undefined, "")),
				);
				if (status !== 200) return { problem: `HTTP ${status}` };
				return date === undefined ? {} : { date };
			} catch (error) {
				return { problem: reason(error) };
			}
		},
		async date(peer, url) {
			try {
				const trust = peer.source === "local" ? trusts.local() : trusts.of(peer.tls, `a2a.peers.${peer.name}`);
				return (await get(new URL(CARD_PATHS[0], url), await trust)).date;
			} catch (error) {
				return noClock(error);
			}
		},
		close: () => pool.close(),
	};
}

/** Whether the peer answers at all is judged by the question that we put to it. */
const noClock = (_error: unknown): undefined => undefined;

const reason = (error: unknown): string =>
	error instanceof Error && error.name === "TimeoutError"
		? `no answer within ${LOOK_MS / 1000} s`
		: error instanceof Error
			? error.message
			: String(error);

async function lookAtPeers(parts: LookParts, reach: Reacher): Promise<readonly PeerLook[]> {
	const waiting = (await parts.app.outbound.peers()).slice(0, MOST_PEERS).entries();
	const looks: PeerLook[] = [];
	const worker = async () => {
		for (const [at, peer] of waiting) looks[at] = await lookAtPeer(peer, parts, reach);
	};
	await Promise.all(Array.from({ length: AT_ONCE }, worker));
	return looks;
}

/** Asks for a task that nobody has: the answer says whether the peer is there and takes our token, and starts nothing. */
async function lookAtPeer(peer: Peer, { app, clock, signal }: LookParts, reach: Reacher): Promise<PeerLook> {
	const about = { name: peer.name, source: peer.source, address: shownAddress(peer.address) };
	if (peer.source === "mdns") return { ...about, answer: "unasked" };
	// Who is listed in the mailbox was there a moment ago; a question would wait for its turn.
	if (peer.address.via === "mailbox") return { ...about, answer: "ok" };
	const within = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
	const [date, answer] = await Promise.all([
		reach.date(peer, peer.address.url),
		app.outbound.status(peer.name, `doctor-${newId("task")}`, { signal: within }).then(
			(): Pick<PeerLook, "answer"> => ({ answer: "ok" }),
			(error: unknown) => answerOf(error, within),
		),
	]);
	return { ...about, ...answer, ...(date === undefined ? {} : { skewMs: date - clock.now() }) };
}

function answerOf(error: unknown, within: AbortSignal): Pick<PeerLook, "answer" | "why"> {
	if (within.aborted) return { answer: "failed", why: `no answer within ${LOOK_MS / 1000} s` };
	const refusal = error instanceof PeerError ? error.refusal : undefined;
	if (refusal === "TaskNotFoundError") return { answer: "ok" };
	if (refusal === "UnauthorizedError") return { answer: "unauthorized" };
	if (refusal === "UntrustedCallerError") return { answer: "untrusted" };
	return { answer: "failed", why: reason(error) };
}

/** Files of ours, and those with our secrets, directly in the agent folder. */
async function faultyFiles(agentDir: string): Promise<readonly FileFault[]> {
	// Windows keeps its rights elsewhere.
	if (process.platform === "win32") return [];
	const names = await readdir(agentDir).catch((error: unknown) => nothing(error));
	const ours = names.filter((name) => /^(a2a_.*|settings\.json|\.env\.local)$/.test(name));
	const faults = ours.map(async (name): Promise<FileFault[]> => {
		const path = join(agentDir, name);
		const info = await lstat(path);
		const folder = info.isDirectory();
		if (info.uid !== process.getuid?.()) return [{ path, folder }];
		if (info.isSymbolicLink()) return [];
		return (info.mode & 0o077) === 0 ? [] : [{ path, folder, mode: (info.mode & 0o777).toString(8) }];
	});
	return (await Promise.all(faults)).flat();
}

function nothing(error: unknown): string[] {
	if (errorCode(error) === "ENOENT") return [];
	throw error;
}

async function unwritable(path: string): Promise<string | undefined> {
	try {
		const there = await lstat(path).catch((error: unknown) =>
			errorCode(error) === "ENOENT" ? undefined : Promise.reject(error),
		);
		if (there && !there.isFile()) return `${path} is not a file`;
		await access(there ? path : dirname(path), constants.W_OK);
		return undefined;
	} catch (error) {
		return reason(error);
	}
}

async function freeIn(folder: string): Promise<number | undefined> {
	try {
		const { bavail, bsize } = await statfs(folder);
		return bavail * bsize;
	} catch (error) {
		return unknown(error);
	}
}

/** Some file systems do not say. */
const unknown = (_error: unknown): undefined => undefined;

function hasMdns(): boolean {
	try {
		createRequire(import.meta.url).resolve("bonjour-service");
		return true;
	} catch (error) {
		return unknown(error) ?? false;
	}
}
