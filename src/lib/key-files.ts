/** Files that are given to nobody, because what they are for is to hold keys. */
import { basename } from "node:path";

/** Examples of them are written to be shown. */
const VARIABLES = /^\.env(?:rc|\.(?!(?:example|sample|template|dist|defaults)$).*)?$/i;
const NAMES =
	/^(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|[._]netrc|\.git-credentials|\.pgpass|\.npmrc|\.pypirc|\.dockercfg|\.htpasswd)$|\.(?:p12|pfx|jks|kdbx|keystore|ppk)$/i;
const PRIVATE_KEY = /^\s*-----BEGIN [A-Z0-9 ]*PRIVATE KEY/;

/** Why a file of that path is not given out; undefined when its name says nothing against it. */
export const keysByName = (path: string): string | undefined =>
	NAMES.test(basename(path)) || VARIABLES.test(basename(path))
		? "by its name it holds keys, so it is not sent"
		: undefined;

/** Why a file with these bytes is not given out; undefined when they are no private key. */
export const keysByContent = (bytes: Buffer): string | undefined =>
	PRIVATE_KEY.test(bytes.toString("latin1", 0, 200)) ? "it is a private key, so it is not sent" : undefined;
