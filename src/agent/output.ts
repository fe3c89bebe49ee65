/** What a turn produces, on its way into the task: without secrets, each artifact opened once and closed once. */
import { type Redactor, redactFile, redactJson, redactPart } from "../guard/redact.ts";
import { type Accepted, accepted, typeOf } from "../protocol/accepted.ts";
import type { Artifact, JsonObject, Part } from "../protocol/types.ts";
import type { TaskLog } from "../tasks/log.ts";
import { jsonIn, looksJson } from "./json-reply.ts";
import type { RunEvent } from "./runner.ts";

/** `text` without secrets. */
export function safeText(redact: () => Redactor, text: string): string {
	const redactor = redact();
	return redactor.push(text) + redactor.end();
}

/** The part with its text, its data or the text of its file without secrets; links stay as they are. */
export function safePart(redact: () => Redactor, part: Part): Part {
	const safe = (text: string) => safeText(redact, text);
	return "raw" in part ? redactFile(part, safe) : redactPart(part, safe);
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
	readonly #accepted: Accepted;
	readonly #pieces = new Map<string, Piece>();
	readonly #leftOut: string[] = [];
	#text = false;
	#artifact = false;
	/** The reply as long as it may become data, or may not go out as text at all. */
	#held: string | undefined;
	#isJson: boolean | undefined;

	/** `replyId`: the artifact that all text of this turn makes. `accepts`: what the caller takes; anything by default. */
	constructor(log: TaskLog, redact: () => Redactor, replyId: string, accepts: Accepted = accepted()) {
		this.#log = log;
		this.#redact = redact;
		this.#replyId = replyId;
		this.#accepted = accepts;
		this.#hold();
	}

	/** What the caller does not take and has not been sent, once the turn has ended; "" when nothing was left out. */
	get leftOut(): string {
		if (this.#leftOut.length === 0) return "";
		return [`Not among the accepted output modes (${this.#accepted.modes.join(", ")}):`, ...this.#leftOut].join("\n\n");
	}

	/**
	 * The next piece of the reply. What may still become a secret is held back; so is a reply that begins like JSON, where
	 * the caller asks for that, until it is known whether it is a document.
	 */
	text(delta: string): void {
		if (this.#held === undefined) this.#write(delta);
		else {
			this.#held += delta;
			// Judged by its beginning, once: a long document must not be looked through at every piece.
			if (this.#accepted.text) this.#isJson ??= looksJson(this.#held);
			if (this.#isJson === false) this.#release();
		}
	}

	#write(delta: string): void {
		this.#text ||= delta.trim() !== "";
		const piece = this.#piece(this.#replyId);
		const text = piece.redactor.push(delta);
		if (text) this.#emit({ ...this.#reply(piece), parts: [{ text }] }, piece, false);
	}

	/** The reply so far is void; what comes next replaces it. */
	restart(): void {
		this.#hold();
		const piece = this.#pieces.get(this.#replyId);
		if (!piece) return;
		this.#text = false;
		piece.redactor = this.#redact();
		piece.stale ||= piece.opened;
		piece.opened = false;
	}

	/** An artifact of the agent's own, whole or in pieces. */
	artifact({ artifact, append = false, lastChunk = !append }: RunEvent & { readonly type: "artifact" }): void {
		const taken = artifact.parts.filter((part) => this.#accepted.takes(part));
		for (const part of artifact.parts) if (!taken.includes(part)) this.#leaveOut(part);
		const known = append && this.#pieces.has(artifact.artifactId);
		if (taken.length === 0 && artifact.parts.length > 0 && !known) return;
		this.#artifact = true;
		if (!append) this.#pieces.delete(artifact.artifactId);
		const piece = this.#piece(artifact.artifactId);
		const parts =
			!append && lastChunk
				? taken.map((part) => safePart(this.#redact, part))
				: this.#streamed(taken, piece.redactor, lastChunk);
		this.#emit({ ...this.#safeFacts(artifact), parts: parts.length > 0 ? parts : [{ text: "" }] }, piece, lastChunk);
	}

	/** Sends what was held back and closes every artifact. False: the turn produced nothing that anybody can use. */
	end(): boolean {
		this.#settle();
		for (const [artifactId, piece] of this.#pieces) {
			if (piece.closed) continue;
			const text = piece.redactor.end();
			if (!text && !piece.opened && !piece.stale) continue;
			const facts = artifactId === this.#replyId ? this.#reply(piece) : { artifactId };
			this.#emit({ ...facts, parts: [{ text }] }, piece, true);
		}
		return this.#text || this.#artifact;
	}

	#hold(): void {
		this.#isJson = undefined;
		this.#held = this.#accepted.json || !this.#accepted.text ? "" : undefined;
	}

	#release(): void {
		const held = this.#held ?? "";
		this.#held = undefined;
		this.#write(held);
	}

	/** The reply is complete: as data when it is a document, else as text, if the caller takes that. */
	#settle(): void {
		const held = this.#held ?? "";
		if (held.trim() === "") return;
		const { json, text } = this.#accepted;
		const found = json ? jsonIn(held, !text) : undefined;
		if (!found && text) {
			this.#release();
			return;
		}
		this.#held = undefined;
		const rest = found ? found.before : held;
		if (rest.trim() !== "") this.#leaveOut({ text: rest });
		if (!found) return;
		this.#artifact = true;
		const data = safePart(this.#redact, { data: found.value, mediaType: "application/json" });
		const piece = this.#piece(this.#replyId);
		this.#emit({ ...this.#reply(piece), parts: [data] }, piece, true);
	}

	/** Nothing is lost without a word: text stands in the note itself, of a file its name does. */
	#leaveOut(part: Part): void {
		const safe = safePart(this.#redact, part);
		const name = safeText(this.#redact, part.filename ?? "");
		this.#leftOut.push("text" in safe ? safe.text.trim() : [typeOf(part), name].join(" ").trim());
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
			...(metadata === undefined ? {} : { metadata: this.#safeFact(metadata) }),
		};
	}

	#safeFact(metadata: JsonObject): JsonObject {
		return redactJson(metadata, (text) => safeText(this.#redact, text)) as JsonObject;
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
