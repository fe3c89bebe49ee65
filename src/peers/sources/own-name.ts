/** The name that a session takes among those of its machine: one that no other has, and the same as last time. */
import { errorCode } from "../../lib/errno.ts";
import { readJson, withLock, writeJson } from "../../lib/files.ts";
import { oneLine } from "../../lib/text.ts";
import { folded } from "../names.ts";

export interface NameWish {
	/** What the session is called in its settings. */
	readonly name: string;
	/** Id of the Pi session: what is resumed under it takes the same name again. */
	readonly sessionId?: string | undefined;
	readonly pid: number;
}

/** Sessions whose names are remembered; those named longest ago are forgotten first. */
const REMEMBERED = 500;

/** Letters of a session's id that tell it from its namesakes. */
const MARK = 4;

/** The end of the id: ids that begin with a time are alike at the front. */
const markOf = ({ sessionId, pid }: NameWish): string =>
	sessionId
		?.replace(/[^a-z0-9]/gi, "")
		.slice(-MARK)
		.toLowerCase() || String(pid);

/**
 * The first of: the name of last time, the plain one, one with a mark of the session, one with the process number, that
 * is not in `taken` (names as they are, compared without case). `before`: the name of last time.
 */
export function ownName(wish: NameWish, before: string | undefined, taken: readonly string[]): string {
	const others = new Set(taken.map(folded));
	const { name, pid } = wish;
	const wanted = [...(before === undefined ? [] : [before]), name, `${name}-${markOf(wish)}`];
	return wanted.find((each) => !others.has(folded(each))) ?? `${name}-${pid}`;
}

/** Whether `before` is still a name for one that is called `name` in its settings. */
const isOf = (before: string, name: string): boolean => before === name || before.startsWith(`${name}-`);

/** Names of last time, by session id, in one small file that all sessions share. */
export function rememberedNames(path: string) {
	async function read(): Promise<readonly (readonly [string, string])[]> {
		let value: unknown;
		try {
			value = await readJson(path);
		} catch (error) {
			// Half-written by hand or by another program: names are chosen anew, nothing else hangs on them.
			if (errorCode(error) !== undefined) throw error;
			return [];
		}
		if (!Array.isArray(value)) return [];
		return value.flatMap((row): (readonly [string, string])[] => {
			const [id, name] = Array.isArray(row) ? row : [];
			return typeof id === "string" && typeof name === "string" ? [[id, oneLine(name, 80)]] : [];
		});
	}
	return {
		/** The name that the session had; `undefined` when it had none, or when its settings give it another now. */
		async before({ sessionId, name }: NameWish): Promise<string | undefined> {
			const found = (await read()).find(([id]) => id === sessionId)?.[1];
			return found !== undefined && isOf(found, name) ? found : undefined;
		},
		/** Keeps the name for the next time. */
		async keep(sessionId: string, name: string): Promise<void> {
			await withLock(path, async () => {
				const others = (await read()).filter(([id]) => id !== sessionId);
				await writeJson(path, [...others, [sessionId, name]].slice(-REMEMBERED));
			});
		},
	};
}
