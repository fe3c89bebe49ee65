/** The `traceparent` of a call of ours (W3C trace context). */
import { randomBytes } from "node:crypto";
import { readTrace, traceId } from "../protocol/trace.ts";

/**
 * The trace context for a new call: of the trace that `within` belongs to, with a span of its own; a new trace when
 * there is none or `within` is no `traceparent`.
 */
export function outgoingTrace(within?: string): string {
	const known = readTrace(within);
	const trace = known ? traceId(known) : randomBytes(16).toString("hex");
	return `00-${trace}-${randomBytes(8).toString("hex")}-${known ? known.slice(-2) : "01"}`;
}
