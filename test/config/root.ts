import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Loaded, type LoadInput, loadConfig } from "../../src/config/load.ts";

/** An agent folder and a project below one temporary folder. */
export interface Root {
	readonly agentDir: string;
	readonly cwd: string;
	readonly user: string;
	readonly project: string;
	readonly envFile: string;
	/** Writes a settings file: text as it is, anything else as JSON below `a2a`. */
	put(file: string, content: unknown): void;
	load(over?: Partial<LoadInput>): Promise<Loaded>;
	remove(): void;
}

export function makeRoot(): Root {
	const root = mkdtempSync(join(tmpdir(), "a2a-config-"));
	const agentDir = join(root, "agent");
	const cwd = join(root, "project");
	mkdirSync(agentDir);
	mkdirSync(cwd);
	return {
		agentDir,
		cwd,
		user: join(agentDir, "settings.json"),
		project: join(cwd, ".pi", "settings.json"),
		envFile: join(agentDir, ".env.local"),
		put(file, content) {
			mkdirSync(dirname(file), { recursive: true });
			writeFileSync(file, typeof content === "string" ? content : JSON.stringify({ a2a: content }));
		},
		load: (over = {}) => loadConfig({ agentDir, cwd, env: {}, projectTrusted: true, hostname: "host-1", ...over }),
		remove: () => rmSync(root, { recursive: true, force: true }),
	};
}

/** `value` at the end of a dotted path. */
export function at(path: string, value: unknown): unknown {
	return path.split(".").reduceRight((inner, key) => ({ [key]: inner }), value);
}

/** Without prototypes that matter to a comparison. */
export function plainly(value: unknown): unknown {
	return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
