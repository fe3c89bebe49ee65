/** The folder that agents share, and where in it their files are. */
import { lstat, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../../lib/errno.ts";
import { safeName } from "../../lib/files.ts";
import { Box, type BoxParts } from "./box.ts";
import { isAgentId } from "./messages.ts";

/** An agent's place in the mailbox. */
export interface AgentPlace {
	/** Name of its folder; that of an agent whose id is no safe name is made of it. */
	readonly name: string;
	readonly folder: string;
	/** Its registration. */
	readonly card: string;
}

/** The mailbox of agents that share a file system. */
export class MailRoot {
	readonly path: string;
	readonly agents: string;
	readonly parts: BoxParts;
	readonly #boxes = new Map<string, Box>();

	constructor(path: string, parts: BoxParts) {
		this.path = path;
		this.agents = join(path, "agents");
		this.parts = parts;
	}

	/** Where the files of an agent are. An id never leads out of the root, whatever it holds. */
	place(id: string): AgentPlace {
		if (!isAgentId(id)) throw new Error(`${JSON.stringify(id)} is no id of an agent`);
		return this.named(safeName(id));
	}

	/** The place of a folder that `folders` gave. */
	named(name: string): AgentPlace {
		const folder = join(this.agents, name);
		return { name, folder, card: join(folder, "agent.json") };
	}

	/** A box of an agent; the same object for the same box. */
	box(id: string, side: "inbox" | "outbox"): Box {
		const { folder } = this.place(id);
		const key = `${side} ${id}`;
		const known = this.#boxes.get(key);
		if (known) return known;
		const box = new Box(folder, { id, side }, this.parts);
		this.#boxes.set(key, box);
		return box;
	}

	/** Forgets the boxes of an agent that is gone. */
	forget(id: string): void {
		for (const side of ["inbox", "outbox"]) this.#boxes.delete(`${side} ${id}`);
	}

	/** Makes the root, closed to others. Throws when it is somebody else's, or others may write into it. */
	async open(): Promise<void> {
		await mkdir(this.path, { recursive: true, mode: 0o700 });
		await mkdir(this.agents, { recursive: true, mode: 0o700 });
		for (const folder of [this.path, this.agents]) {
			const info = await lstat(folder);
			if (!info.isDirectory()) throw new Error(`${folder} is not a folder of its own; a link is not followed`);
			if (process.getuid && info.uid !== process.getuid()) throw new Error(`${folder} belongs to another user`);
			if (process.getuid && (info.mode & 0o022) !== 0)
				throw new Error(`others may write to ${folder}; whoever can do that can give orders to agents (chmod go-w)`);
		}
	}

	/** Makes the folder of an agent. */
	async make(id: string): Promise<AgentPlace> {
		const place = this.place(id);
		await mkdir(place.folder, { recursive: true, mode: 0o700 });
		if (!(await lstat(place.folder)).isDirectory()) throw new Error(`${place.folder} is not a folder`);
		return place;
	}

	/** Names of the agents' folders. None when there is no mailbox. */
	async folders(): Promise<readonly string[]> {
		try {
			const found = await readdir(this.agents, { withFileTypes: true });
			return found.flatMap((entry) => (entry.isDirectory() && !entry.name.startsWith(".") ? [entry.name] : []));
		} catch (error) {
			if (errorCode(error) === "ENOENT") return [];
			throw error;
		}
	}
}
