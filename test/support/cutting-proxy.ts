/** A TCP proxy that does a connection one kind of harm, at one byte of it. */

import type { AddressInfo } from "node:net";
import { createServer, type Server, Socket } from "node:net";

export interface Harm {
	/** The way of the byte: `up` to the server, `down` from it. */
	readonly way: "up" | "down";
	/** How many bytes of that way pass before it happens, counted from the plan on, over all connections. */
	readonly at: number;
	/**
	 * `cut`: both ends are reset. `end`: the reader of that way sees a proper end of the stream, and what follows is
	 * dropped. `stall`: nothing passes for a moment, then all of it. `twice`: what has passed up so far is sent to the server
	 * again on a connection of its own, whose answer nobody reads.
	 */
	readonly act: "cut" | "end" | "stall" | "twice";
}

export interface CuttingProxy {
	readonly port: number;
	/** Where connections go. */
	target: number;
	/** Ends all connections, counts from zero, and does `harm` once; nothing without it. */
	plan(harm?: Harm): void;
	/** Bytes that have passed since the plan. */
	readonly passed: { readonly up: number; readonly down: number };
	/** Whether the harm has been done. */
	readonly done: boolean;
	close(): Promise<void>;
}

const STALL_MS = 20;

/** Starts the proxy on a free port. */
export async function cuttingProxy(): Promise<CuttingProxy> {
	const sockets = new Set<Socket>();
	let harm: Harm | undefined;
	let passed = { up: 0, down: 0 };
	let done = false;
	let said: Buffer[] = [];

	function kept(socket: Socket): Socket {
		sockets.add(socket);
		// A reset is what this is for.
		socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
		return socket;
	}

	/** Moves one piece on, harmed where the plan says so. */
	function pass(way: "up" | "down", from: Socket, to: Socket, piece: Buffer): void {
		const before = passed[way];
		passed = { ...passed, [way]: before + piece.length };
		const plan = harm;
		if (!plan || done || plan.way !== way || before + piece.length < plan.at) {
			if (way === "up") said.push(piece);
			to.write(piece);
			return;
		}
		done = true;
		const head = piece.subarray(0, plan.at - before);
		const rest = piece.subarray(plan.at - before);
		if (way === "up") said.push(head);
		to.write(head, () => {
			if (plan.act === "cut") {
				from.resetAndDestroy();
				to.resetAndDestroy();
			} else if (plan.act === "end") {
				from.removeAllListeners("data").resume();
				to.end();
			} else if (plan.act === "stall") {
				from.pause();
				setTimeout(() => {
					to.write(rest);
					from.resume();
				}, STALL_MS);
			} else {
				to.write(rest);
				const again = kept(new Socket());
				again.connect(proxy.target, "127.0.0.1", () => again.write(Buffer.concat([...said, rest])));
				again.resume();
			}
		});
	}

	const server: Server = createServer((near) => {
		kept(near);
		const far = kept(new Socket());
		far.connect(proxy.target, "127.0.0.1");
		near.on("data", (piece: Buffer) => pass("up", near, far, piece)).on("close", () => far.destroy());
		far.on("data", (piece: Buffer) => pass("down", far, near, piece)).on("close", () => near.destroy());
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const proxy: CuttingProxy = {
		port: (server.address() as AddressInfo).port,
		target: 0,
		plan(next) {
			for (const socket of sockets) socket.destroy();
			harm = next;
			passed = { up: 0, down: 0 };
			done = false;
			said = [];
		},
		get passed() {
			return passed;
		},
		get done() {
			return done;
		},
		async close() {
			proxy.plan();
			await new Promise<void>((resolve) => server.close(() => resolve()));
		},
	};
	return proxy;
}
