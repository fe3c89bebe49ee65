/** The mDNS library over a socket of ours: what this folder uses of it, in one place. */
import { isObject } from "../../protocol/json.ts";
import type { Rr } from "./mdns-records.ts";
import { type MulticastOptions, MulticastSocket } from "./mdns-socket.ts";

/** A packet and the address it came from. */
export type OnPacket = (records: readonly Rr[], sender: string) => void;

/** An open connection to the network. */
export interface Link {
	/** Calls `reader` for every packet that answers or announces; the result ends that. */
	listen(reader: OnPacket): () => void;
	ask(questions: readonly { readonly name: string; readonly type: string }[]): void;
	/** From now on questions about these records are answered. */
	register(records: readonly Rr[]): void;
	unregister(records: readonly Rr[]): void;
	/** Sends records without being asked; resolves when they have left. */
	say(records: readonly Rr[]): Promise<void>;
	/** Looks at the interfaces again. True when there was a change. */
	refresh(): boolean;
	/** Keeps the process alive while somebody waits for answers; the result ends that. */
	hold(): () => void;
	close(): void;
}

/** The part of `bonjour-service` that is used. Its own publishing and browsing is not: it prints to the screen, tells
 * addresses that nobody listens on, and keeps what has died. */
interface Library {
	readonly server: {
		readonly mdns: {
			on(event: "response", reader: (packet: Packet, from: { readonly address: string }) => void): void;
			off(event: "response", reader: (packet: Packet, from: { readonly address: string }) => void): void;
			on(event: "error" | "warning", reader: (error: unknown) => void): void;
			query(questions: readonly object[]): void;
			respond(records: readonly Rr[], done: () => void): void;
		};
		register(records: readonly Rr[]): void;
		unregister(records: readonly Rr[]): void;
	};
	destroy(): void;
}

interface Packet {
	readonly answers?: readonly Rr[];
	readonly additionals?: readonly Rr[];
}

type Constructor = new (options: object, onError: (error: unknown) => void) => unknown;

/** The class in the module `bonjour-service`. Throws when the module is something else. */
export function constructorIn(module: unknown): Constructor {
	const found = isObject(module) ? (module.Bonjour ?? module.default) : undefined;
	const bare = isObject(found) ? found.default : found;
	if (typeof bare !== "function") throw new Error("this version of bonjour-service is not known; 1.x is");
	return bare as Constructor;
}

function isLibrary(value: unknown): value is Library {
	const server = isObject(value) ? value.server : undefined;
	if (!isObject(server)) return false;
	const { mdns } = server;
	const has = (object: unknown, ...names: string[]) =>
		isObject(object) && names.every((name) => typeof object[name] === "function");
	return has(server, "register", "unregister") && has(mdns, "on", "off", "query", "respond") && has(value, "destroy");
}

/** Opens the network. Throws when the port cannot be bound, or the library is not the one that is known. */
export async function openLink(Bonjour: Constructor, options: MulticastOptions): Promise<Link> {
	const socket = new MulticastSocket(options);
	await socket.open();
	const quiet = () => undefined;
	const library = new Bonjour({ socket, bind: false, multicast: false, port: options.port }, quiet);
	if (!isLibrary(library)) {
		socket.close();
		throw new Error("this version of bonjour-service is not known; 1.x is");
	}
	const { server } = library;
	// Without a reader such an event would end the process.
	server.mdns.on("error", quiet);
	return {
		listen(reader) {
			const read = ({ answers = [], additionals = [] }: Packet, { address }: { readonly address: string }) =>
				reader([...answers, ...additionals], address);
			server.mdns.on("response", read);
			return () => server.mdns.off("response", read);
		},
		ask: (questions) => server.mdns.query([...questions]),
		register: (records) => server.register(records),
		unregister: (records) => server.unregister(records),
		say: (records) => new Promise((resolve) => server.mdns.respond(records, () => resolve())),
		refresh: () => socket.refresh(),
		hold: () => socket.hold(),
		close: () => library.destroy(),
	};
}
