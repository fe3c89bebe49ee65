/** `a2a_attach`: a session that serves a peer gives a file back with its task. */
import { realpath } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { ToolDefinition } from "@mariozechner/pi-coding-agent";
import { Type } from "@sinclair/typebox";
import type { FileLimits } from "../agent/content.ts";
import { errorCode } from "../lib/errno.ts";
import { newId } from "../lib/ids.ts";
import { keysByContent, keysByName } from "../lib/key-files.ts";
import { cleanMediaType, mediaTypeOf } from "../lib/media-types.ts";
import { isInside, readRegular, real } from "../lib/regular-file.ts";
import { oneLine } from "../lib/text.ts";
import type { Artifact, Part } from "../protocol/types.ts";

export const ATTACH = "a2a_attach";

export interface AttachOptions {
	/** Where the session works; relative paths start here. */
	readonly workspace: string;
	/** The folder of the task's own files. */
	readonly folder: string;
	/** Holds the host's credentials and settings: nothing in it but `folder` is given to anybody. */
	readonly agentDir: string;
	readonly limits: FileLimits;
	/** Whether the caller takes such a part, and if not, what it takes. */
	readonly refusal: (part: Part) => string | undefined;
	/** Gets each artifact, one file in it. */
	readonly onAttach: (artifact: Artifact) => void;
}

const parameters = Type.Object({
	path: Type.String({ description: "The file, in the workspace or among the files that came with the task" }),
	name: Type.Optional(Type.String({ description: "What the caller shall call it (default: its own name)" })),
	media_type: Type.Optional(Type.String({ description: "Such as application/pdf (default: by the name's extension)" })),
});

/** Throws an error that says what to do, unless the file may be given out. */
async function located(asked: string, { workspace, folder, agentDir }: AttachOptions): Promise<string> {
	const path = await realpath(resolve(workspace, asked)).catch((error: unknown) => {
		const why = errorCode(error) === "ENOENT" ? "there is no such file" : "it cannot be opened";
		throw new Error(`${asked}: ${why}. Give the path of a file, relative to the workspace.`);
	});
	const [home, own, work] = await Promise.all([agentDir, folder, workspace].map(real));
	if (home === undefined || own === undefined || work === undefined) throw new Error("a folder of the task is missing");
	if (isInside(path, own)) return path;
	if (isInside(path, home)) throw new Error(`${asked}: files of this host's own settings are not given out.`);
	if (isInside(path, work)) return path;
	throw new Error(`${asked}: only files of the workspace can be attached. Copy it into the workspace first.`);
}

/** The tool for one turn. It throws to fail; the error says what was wrong and what to do. */
export function attachTool(options: AttachOptions): ToolDefinition<typeof parameters> {
	const { limits } = options;
	let [count, total] = [0, 0];
	return {
		name: ATTACH,
		label: "Attach a file",
		description:
			"Give a file back to the agent or person who sent this task. It arrives beside your reply. Use it when the " +
			"result is a file, or when you were asked for one; the caller cannot see your workspace.",
		promptSnippet: "Give a file of the workspace back to the sender of this task",
		parameters,
		executionMode: "sequential",
		async execute(_id, { path: asked, name, media_type }) {
			const given = media_type?.trim() || undefined;
			if (given !== undefined && cleanMediaType(given) === undefined) {
				throw new Error(`media_type: ${oneLine(given, 60)} is none; expected one such as application/pdf`);
			}
			if (count >= limits.maxCount) throw new Error(`${limits.maxCount} files are attached; no more are allowed.`);
			const path = await located(asked, options);
			const filename = oneLine(basename((name ?? "").replaceAll("\\", "/")), 120) || basename(path);
			const mediaType = cleanMediaType(given) ?? mediaTypeOf(filename);
			const refusal = options.refusal({ raw: "", filename, mediaType });
			if (refusal !== undefined) throw new Error(`${filename} (${mediaType}): ${refusal}`);
			const most = Math.min(limits.maxBytes, limits.maxTotalBytes - total);
			const isOwn = isInside(path, await real(options.folder));
			const bytes = await readRegular(path, asked, most, isOwn ? [] : [await real(options.agentDir)]);
			// What came with the task, its sender has.
			const keys = isOwn ? undefined : (keysByName(path) ?? keysByContent(bytes));
			if (keys !== undefined) throw new Error(`${asked}: ${keys}.`);
			count += 1;
			total += bytes.length;
			const part = { raw: bytes.toString("base64"), filename, mediaType };
			options.onAttach({ artifactId: newId("file"), name: filename, parts: [part] });
			const text = `Attached ${filename} (${mediaType}, ${bytes.length} bytes). The caller gets it with your reply.`;
			return { content: [{ type: "text", text }], details: undefined };
		},
	};
}
