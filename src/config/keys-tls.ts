/** Keys of encryption: the certificate of our own server, and whose certificates are taken. */
import { line } from "./key-kinds.ts";
import { type KeyTable, rows } from "./row.ts";

const tls = rows("TLS", "server", "it decides who can read along");

/** A file in PEM form. */
export const pemFile = () => line(4096, "a file in PEM form");

export const TLS_KEYS = {
	tlsCert: tls("server.tls.cert", pemFile(), "", {
		env: "A2A_TLS_CERT",
		help: "File with the certificate of the inbound server, and those between it and its authority: it speaks https then",
		guards: true,
	}),
	tlsKey: tls("server.tls.key", pemFile(), "", {
		env: "A2A_TLS_KEY",
		help: "File with the private key of that certificate",
		guards: true,
	}),
	tlsClientCa: tls("server.tls.clientCa", pemFile(), "", {
		env: "A2A_TLS_CLIENT_CA",
		help: "File with the authorities whose clients may connect; others are cut off before they say anything",
		guards: true,
	}),
	tlsCaFile: tls("tls.caFile", pemFile(), "", {
		env: "A2A_TLS_CA_FILE",
		help: "File with further authorities for https peers, beside those that Node knows",
		restart: "none",
	}),
} as const satisfies KeyTable;
