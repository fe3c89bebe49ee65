/** A self-signed certificate made on the spot, so that no key stands in a file. */
import { generateKeyPairSync, sign } from "node:crypto";

function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
	const body = Buffer.concat(contents);
	const size = body.length < 0x80 ? [body.length] : [0x82, body.length >> 8, body.length & 0xff];
	return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

const SEQUENCE = 0x30;
const hex = (text: string) => Buffer.from(text, "hex");
/** ecdsa-with-SHA256 */
const ALGORITHM = der(SEQUENCE, der(0x06, hex("2a8648ce3d040302")));
/** CN=127.0.0.1 */
const NAME = der(SEQUENCE, der(0x31, der(SEQUENCE, der(0x06, hex("550403")), der(0x0c, Buffer.from("127.0.0.1")))));
const utcTime = (ms: number) =>
	der(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, "").slice(2, 14)}Z`));

/** Key and certificate for a TLS server, valid for a day. */
export function selfSigned(): { readonly key: string; readonly cert: string } {
	const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
	const day = 86_400_000;
	const signed = der(
		SEQUENCE,
		der(0x02, hex("01")),
		ALGORITHM,
		NAME,
		der(SEQUENCE, utcTime(Date.now() - day), utcTime(Date.now() + day)),
		NAME,
		publicKey.export({ type: "spki", format: "der" }),
	);
	const signature = sign("sha256", signed, privateKey);
	const bytes = der(SEQUENCE, signed, ALGORITHM, der(0x03, hex("00"), signature));
	return {
		key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
		cert: `-----BEGIN CERTIFICATE-----\n${bytes.toString("base64").replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
	};
}
