/** What a turn produces, on its way into the task: without secrets, each artifact opened once and closed once. */
import { eachText, type Redactor } from "../guard/redact.ts";
import type { Artifact, Json, Part } from "../protocol/types.ts";
import type { TaskLog } from "../tasks/log.ts";
import type { RunEvent } from "./runner.ts";

/** `text` without secrets. */
export function safeText(redact: () => Redactor, text: string): string {
	const redactor = redact();
	return redactor.push(text) + redactor.end();
}

/** `value` with every string in it, at any depth, without secrets. */
const safeData = <T extends Json>(redact: () => Redactor, value: T): T =>
	eachText(value, (text) => safeText(redact, text));

/** The part with its text or data without secrets; files and links stay as they are. */
export function safePart(redact: () => Redactor, part: Part): Part {
	if ("text" in part) return { ...part, text: safeText(redact, part.text) };
	return "data" in part ? { ...part, data: safeData(redact, part.data) } : part;
}

/** An artifact in the making. */
interface Piece {
	redactor: Redactor;
	/** Something of it has gone out, so the next piece is appended. */
	opened: boolean;
	/** What has gone out is void: it must be replaced even when nothing follows. */
	stale: boolean;
	closed: boolean;
}

export class Output {
	readonly #log: TaskLog;
	readonly #redact: () => Redactor;
	readonly #replyId: string;
	readonly #pieces = new Map<string, Piece>();
	#text = false;
	#artifact = false;

	/** `replyId`: the artifact that all text of this turn makes. */
	constructor(log: TaskLog, redact: () => Redactor, replyId: string) {
		this.#log = log;
		this.#redact = redact;
		this.#replyId = replyId;
	}

	/** The next piece of the reply. What may still become a secret is held back. */
	text(delta: string): void {
		this.#text ||= delta.trim() !== "";
		const piece = this.#piece(this.#replyId);
		const text = piece.redactor.push(delta);
		if (text) this.#emit({ ...this.#reply(piece), parts: [{ text }] }, piece, false);
	}

	/** The reply so far is void; what comes next replaces it. */
	restart(): void {
		const piece = this.#pieces.get(this.#replyId);
		if (!piece) return;
		this.#text = false;
		piece.redactor = this.#redact();
		piece.stale ||= piece.opened;
		piece.opened = false;
	}

	/** An artifact of the agent's own, whole or in pieces. */
	artifact({ artifact, append = false, lastChunk = !append }: RunEvent & { readonly type: "artifact" }): void {
		this.#artifact = true;
		if (!append) this.#pieces.delete(artifact.artifactId);
		const piece = this.#piece(artifact.artifactId);
		const parts =
			!append && lastChunk
				? artifact.parts.map((part) => safePart(this.#redact, part))
				: this.#streamed(artifact.parts, piece.redactor, lastChunk);
		this.#emit({ ...this.#safeFacts(artifact), parts: parts.length > 0 ? parts : [{ text: "" }] }, piece, lastChunk);
	}

	/** Sends what was held back and closes every artifact. False: the turn produced nothing that anybody can use. */
	end(): boolean {
		for (const [artifactId, piece] of this.#pieces) {
			if (piece.closed) continue;
			const text = piece.redactor.end();
			if (!text && !piece.opened && !piece.stale) continue;
			const facts = artifactId === this.#replyId ? this.#reply(piece) : { artifactId };
			this.#emit({ ...facts, parts: [{ text }] }, piece, true);
		}
		return this.#text || this.#artifact;
	}

	#piece(artifactId: string): Piece {
		const known = this.#pieces.get(artifactId);
		if (known) return known;
		const piece = { redactor: this.#redact(), opened: false, stale: false, closed: false };
		this.#pieces.set(artifactId, piece);
		return piece;
	}

	#reply(piece: Piece): Pick<Artifact, "artifactId" | "name"> {
		return piece.opened ? { artifactId: this.#replyId } : { artifactId: this.#replyId, name: "reply" };
	}

	#emit(artifact: Artifact, piece: Piece, lastChunk: boolean): void {
		this.#log.append({ kind: "artifact", artifact, append: piece.opened, lastChunk });
		piece.opened = true;
		piece.closed = lastChunk;
	}

	/** Names and metadata are text of the agent's as well. */
	#safeFacts(artifact: Artifact): Artifact {
		const { name, description, metadata } = artifact;
		return {
			...artifact,
			...(name === undefined ? {} : { name: safeText(this.#redact, name) }),
			...(description === undefined ? {} : { description: safeText(this.#redact, description) }),
			...(metadata === undefined ? {} : { metadata: safeData(this.#redact, metadata) }),
		};
	}

	/** The parts of one piece of an artifact: a secret may begin in one piece and end in the next. */
	#streamed(parts: readonly Part[], redactor: Redactor, last: boolean): Part[] {
		const safe: Part[] = [];
		const add = (text: string) => text && safe.push({ text });
		for (const part of parts) {
			if ("text" in part && Object.keys(part).length === 1) add(redactor.push(part.text));
			else {
				add(redactor.end());
				safe.push(safePart(this.#redact, part));
			}
		}
		if (last) add(redactor.end());
		return safe;
	}
}
