/** Answers to what is no whole request: `node:http` has no request to show for it. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** What Node finds wrong and the status that says so; anything else is a bad request. */
const STATUS: { readonly [code: string]: string } = {
	// The connection was ended in the middle. It never arrived, so whoever sent it may send it again (RFC 9110 §15.5.9).
	HPE_INVALID_EOF_STATE: "408 Request Timeout",
	ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
	HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Payload Too Large",
	HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};

/** Answers malformed requests to `server` and closes their connections. */
export function answerMalformed(server: Server): void {
	const answering = new WeakMap<Duplex, ServerResponse>();
	const note = (message: IncomingMessage, response: ServerResponse) => void answering.set(message.socket, response);
	server.on("request", note).on("checkContinue", note);
	server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
		const response = answering.get(socket);
		// In the middle of another answer this one would be part of that.
		const isFree = !response || response.writableFinished || !response.headersSent;
		if (!socket.writable || !isFree || error.code === "ECONNRESET") return void socket.destroy();
		const status = STATUS[error.code ?? ""] ?? "400 Bad Request";
		socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`, () => socket.destroy());
	});
}
