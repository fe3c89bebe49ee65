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

/** The subject is 127.0.0.1 where Node looks for it: an alternative name of the address's bytes. */
const ALTERNATIVE = der(
	0xa3,
	der(SEQUENCE, der(SEQUENCE, der(0x06, hex("551d11")), der(0x04, der(SEQUENCE, der(0x87, hex("7f000001")))))),
);

/** Key and certificate for a TLS server, valid for a day. `named`: for the address 127.0.0.1, else for no name. */
export function selfSigned(named = false): { readonly key: string; readonly cert: string } {
	const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
	const day = 86_400_000;
	const signed = der(
		SEQUENCE,
		...(named ? [der(0xa0, der(0x02, hex("02")))] : []),
		der(0x02, hex("01")),
		ALGORITHM,
		NAME,
		der(SEQUENCE, utcTime(Date.now() - day), utcTime(Date.now() + day)),
		NAME,
		publicKey.export({ type: "spki", format: "der" }),
		...(named ? [ALTERNATIVE] : []),
	);
	const signature = sign("sha256", signed, privateKey);
	const bytes = der(SEQUENCE, signed, ALGORITHM, der(0x03, hex("00"), signature));
	return {
		key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
		cert: `-----BEGIN CERTIFICATE-----\n${bytes.toString("base64").replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
	};
}
