/** Puts a reply on a connection. */
import type { ServerResponse } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { abandon, type HttpReply, leave } from "./reply.ts";
import type { NodeRequest } from "./request.ts";

/** A reader that takes nothing for this many milliseconds is cut off. */
const STUCK_MS = 60_000;

/** Writes the whole reply. Throws what the body throws; then the connection has to be cut. */
export async function writeReply(
	request: NodeRequest,
	response: ServerResponse,
	reply: HttpReply,
	clock: Clock,
): Promise<void> {
	const { status, headers, body } = reply;
	if (response.destroyed) {
		if (isStream(body)) abandon(body);
		return;
	}
	if (isStream(body)) {
		response.writeHead(status, headers);
		response.flushHeaders();
		return writeStream(request, response, body, clock);
	}
	// A text goes out in one piece with its headers; bytes would be a second.
	const length = status === 304 ? {} : { "content-length": String(Buffer.byteLength(body)) };
	if (!request.unread) {
		response.writeHead(status, { ...headers, ...length }).end(body);
		return;
	}
	// Refused before the body was read: the reply is complete for the caller now, the connection ends a little later.
	response.writeHead(status, { ...headers, ...length, connection: "close" }).write(body);
	await request.discard();
	response.end();
}

function isStream(body: HttpReply["body"]): body is AsyncIterable<string> {
	return typeof body === "object" && Symbol.asyncIterator in body;
}

async function writeStream(
	request: NodeRequest,
	response: ServerResponse,
	body: AsyncIterable<string>,
	clock: Clock,
): Promise<void> {
	const { signal } = request;
	if (signal.aborted) {
		abandon(body);
		response.end();
		return;
	}
	const iterator = body[Symbol.asyncIterator]();
	let corked = false;
	const flush = () => {
		if (corked) response.uncork();
		corked = false;
	};
	const end = () => {
		// Node 22 loses what is held back when a reply is ended.
		flush();
		response.end();
	};
	const stop = () => {
		leave(iterator);
		end();
	};
	signal.addEventListener("abort", stop, { once: true });
	try {
		for (;;) {
			const next = await iterator.next();
			if (signal.aborted || next.done) break;
			// What one turn of the event loop brings goes out in one write.
			if (!corked) {
				corked = true;
				response.cork();
				setImmediate(flush);
			}
			if (!response.write(next.value)) await drained(response, clock);
		}
	} finally {
		signal.removeEventListener("abort", stop);
		leave(iterator);
	}
	end();
}

/** Resolves when the reader has caught up or is gone; cuts it off when it does neither. */
function drained(response: ServerResponse, clock: Clock): Promise<void> {
	return new Promise((resolve) => {
		const done = () => {
			cancel();
			response.off("drain", done).off("close", done);
			resolve();
		};
		const cancel = clock.after(STUCK_MS, () => response.destroy());
		response.once("drain", done).once("close", done);
		if (response.destroyed) done();
	});
}
