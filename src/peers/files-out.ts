/** Files that go out with a message: found, checked, read and made parts. Nothing is sent before all of them are. */
import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { redactFile } from "../guard/redact.ts";
import { errorCode } from "../lib/errno.ts";
import { fromHome } from "../lib/home.ts";
import { keysByContent, keysByName } from "../lib/key-files.ts";
import { mediaTypeOf } from "../lib/media-types.ts";
import { isInside, readRegular, real } from "../lib/regular-file.ts";
import { oneLine } from "../lib/text.ts";
import type { Part } from "../protocol/types.ts";

/** What is wanted along with a message. */
export interface FilesToSend {
	/** Absolute, relative to `from`, or from `~`. */
	readonly paths: readonly string[];
	/** Where relative paths start; by default the session's working directory. */
	readonly from?: string | undefined;
	/** Nothing outside these folders is sent; absent: whatever the user can read, but for secrets. */
	readonly within?: readonly string[] | undefined;
}

export interface SendLimits {
	/** Bytes of one file, and of all. */
	readonly maxBytes: number;
	readonly maxTotalBytes: number;
	readonly maxCount: number;
}

export interface SendFilesParts {
	/** The session's working directory. */
	readonly cwd: string;
	/** The host's own folder; but for `given` in it nothing is sent. */
	readonly agentDir: string;
	readonly limits: SendLimits;
	/** Takes credentials out of text. */
	readonly redact: (text: string) => string;
}

/** A file by its name and its size in bytes, as records keep it. */
export interface FileFact {
	readonly name: string;
	readonly bytes: number;
}

export interface Outgoing {
	readonly parts: readonly Part[];
	readonly files: readonly FileFact[];
	/** What the sender should know: what was taken out of which file. */
	readonly notes: readonly string[];
}

/** Folders of the agent's own that hold files of others, which may be passed on. */
const PASSED_ON = ["a2a_files", "a2a_received"];
/** Folders of the home folder in which programs keep keys. */
const KEY_FOLDERS = [
	".ssh",
	".gnupg",
	".aws",
	".azure",
	".kube",
	".docker",
	".config/gcloud",
	".config/gh",
	".config/op",
	".password-store",
	".local/share/keyrings",
	".mozilla",
	".config/google-chrome",
	".config/chromium",
	"Library/Keychains",
];

/** Throws an error that names the file, unless it may be sent. Gives where it really is. */
async function located(asked: string, wanted: FilesToSend, { cwd, agentDir }: SendFilesParts): Promise<string> {
	const shown = oneLine(asked, 300);
	if (asked.trim() === "" || asked.includes("\0")) throw new Error(`"${shown}" is no path of a file`);
	const path = await realpath(resolve(wanted.from ?? cwd, fromHome(asked))).catch((error: unknown) => {
		const code = errorCode(error);
		throw new Error(`${shown}: ${code === "ENOENT" ? "there is no such file" : `it cannot be opened (${code})`}`);
	});
	const within = wanted.within && (await Promise.all(wanted.within.map(real)));
	if (within && !within.some((folder) => isInside(path, folder)))
		throw new Error(`${shown}: a session that serves a peer sends files of its workspace only`);
	const agent = await real(agentDir);
	const passedOn = PASSED_ON.some((folder) => isInside(path, join(agent, folder)));
	if (isInside(path, agent) && !passedOn)
		throw new Error(`${shown}: files of this agent's own settings and sessions are not sent`);
	const home = await real(homedir());
	const isPublic = path.endsWith(".pub");
	const keeps = KEY_FOLDERS.find((folder) => isInside(path, join(home, folder)));
	if (keeps && !isPublic) throw new Error(`${shown}: ~/${keeps} holds keys, so its files are not sent`);
	const named = keysByName(path);
	if (named !== undefined) throw new Error(`${shown}: ${named}`);
	return path;
}

const count = (text: string): number => text.split("[redacted:").length - 1;

/**
 * Reads the wanted files. Text goes out without credentials, as the words of a message do, and the notes say so; other
 * files go out byte by byte. Throws an error that names the file at fault and says why it is not sent.
 */
export async function readFiles(wanted: FilesToSend, parts: SendFilesParts): Promise<Outgoing> {
	const { maxBytes, maxTotalBytes, maxCount } = parts.limits;
	if (wanted.paths.length > maxCount)
		throw new Error(`${wanted.paths.length} files are too many, ${maxCount} may go with a call (files.send.maxCount)`);
	const out = { parts: [] as Part[], files: [] as FileFact[], notes: [] as string[] };
	const [agent, home] = await Promise.all([real(parts.agentDir), real(homedir())]);
	const apart = [agent, ...KEY_FOLDERS.map((folder) => join(home, folder))];
	let total = 0;
	for (const asked of wanted.paths) {
		const path = await located(asked, wanted, parts);
		const shown = oneLine(asked, 300);
		const bytes = await readRegular(path, shown, maxBytes, apart).catch((error: unknown) => {
			const code = errorCode(error);
			throw code ? new Error(`${shown}: it cannot be read (${code})`) : error;
		});
		total += bytes.length;
		if (total > maxTotalBytes)
			throw new Error(`${shown}: with it the files have ${total} bytes, ${maxTotalBytes} are allowed together`);
		const held = keysByContent(bytes);
		if (held !== undefined) throw new Error(`${shown}: ${held}`);
		const filename = oneLine(basename(asked.replaceAll("\\", "/")) || basename(path), 200) || "file";
		const part = { raw: bytes.toString("base64"), filename, mediaType: mediaTypeOf(filename) };
		const safe = redactFile(part, parts.redact);
		if (safe !== part) {
			const sent = Buffer.from(safe.raw, "base64").toString("utf8");
			const gone = Math.max(1, count(sent) - count(bytes.toString("utf8")));
			out.notes.push(
				`${gone === 1 ? "1 secret was" : `${gone} secrets were`} taken out of ${filename} before it was sent.`,
			);
		}
		out.parts.push(safe);
		out.files.push({ name: filename, bytes: Buffer.byteLength(safe.raw, "base64") });
	}
	return out;
}
