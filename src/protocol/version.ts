/** The two service parameters of A2A (§3.2.6): `A2A-Version` and `A2A-Extensions`. */
import { A2AError } from "./errors.ts";

/** The data shapes we speak. */
export type ProtocolVersion = "1.0" | "0.3";

/** `Major.Minor` of a version text, its patch numbers cut off (§3.6); `undefined` when it is none. */
export function majorMinor(text: string): string | undefined {
	return /^\s*(\d+\.\d+)(?:\.\d+)*\s*$/.exec(text)?.[1];
}

/**
 * The version a request asks for (§3.6.2); `undefined` when the parameter is absent or empty, so that the binding may
 * decide. `header` is the header's value, or that of the query parameter of the same name (§3.6.1).
 * Throws `VersionNotSupportedError` for any other version and for what is no version at all.
 */
export function readVersion(header: string | undefined): ProtocolVersion | undefined {
	if (header === undefined || header.trim() === "") return undefined;
	const version = majorMinor(header);
	if (version === "1.0" || version === "0.3") return version;
	throw new A2AError("VersionNotSupportedError", "This A2A version is not supported; 1.0 and 0.3 are", {
		metadata: { supported: "1.0, 0.3" },
	});
}

const MAX_EXTENSIONS = 100;
const MAX_URI = 2048;

/** The extension URIs a request asks for (§3.2.6, §9.2), in order, each once; at most 100, the rest is ignored. */
export function readExtensions(header: string | undefined): string[] {
	const uris = new Set<string>();
	for (const item of (header ?? "").split(",")) {
		const uri = item.trim();
		if (uri !== "" && uri.length <= MAX_URI) uris.add(uri);
		if (uris.size === MAX_EXTENSIONS) break;
	}
	return [...uris];
}
