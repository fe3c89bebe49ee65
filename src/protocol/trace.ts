/** W3C trace context: the `traceparent` of a call, checked for its form and carried on. */

/** The header, and the key in the metadata of a task that was called with one. */
export const TRACE = "traceparent";

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** A `traceparent` as it may be passed on; `undefined` for any other text, which counts as none. */
export function readTrace(text: unknown): string | undefined {
	const found = typeof text === "string" ? FORM.exec(text.trim()) : null;
	if (!found) return undefined;
	const [, version, trace = "", parent = "", flags, more] = found;
	// Later versions may say more behind the flags; version ff is none, and nor is an id of zeros.
	if (version === "ff" || (version === "00" && more !== undefined)) return undefined;
	if (/^0+$/.test(trace) || /^0+$/.test(parent)) return undefined;
	return `00-${trace}-${parent}-${flags}`;
}

/** The id by which the log lines of one trace are found, 32 hexadecimal digits. `trace` is one of `readTrace`. */
export const traceId = (trace: string): string => trace.slice(3, 35);
