/** What a failed call means for the message: whether it never left, or may be sent again. */
import { TransportError } from "../bindings/http/exchange.ts";
import { A2AError } from "../protocol/errors.ts";
import { PeerError } from "./reply.ts";
import { isLost } from "./work.ts";

function causeOf(error: unknown): A2AError | undefined {
	const cause = error instanceof PeerError ? error.cause : error;
	return cause instanceof A2AError ? cause : undefined;
}

/** A name that is not found may be found tomorrow; a certificate that is not accepted will not be either. */
const mayPass = (error: A2AError): boolean =>
	!(error instanceof TransportError) || error.transient || /ENOTFOUND/.test(error.message);

/**
 * The peer cannot be reached and has nothing of the message. `isOpen`: a connection was there, so that the message
 * itself may have been sent.
 */
export function isUndelivered(error: unknown, isOpen: boolean): boolean {
	const cause = causeOf(error);
	if (!cause || !mayPass(cause)) return false;
	if (!isOpen) return cause.name === "PeerUnreachableError" || cause.name === "PeerTimeoutError";
	return cause.name === "PeerUnreachableError" && !isLost(cause);
}

/** The peer has not taken it, and says that it may later. */
export function isPutOff(error: unknown): boolean {
	const name = causeOf(error)?.name;
	return name === "BusyError" || name === "RateLimitedError";
}

/** Whether the peer has it is not known. */
export function isInDoubt(error: unknown): boolean {
	const cause = causeOf(error);
	return cause !== undefined && isLost(cause);
}
