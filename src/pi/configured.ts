/** Whether the operator has said anything about A2A, found out without reading what. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

function says(path: string, word: string): boolean {
	try {
		return readFileSync(path, "utf8").includes(word);
	} catch {
		return false; // not there, or not readable, which the configuration will tell
	}
}

/**
 * False when every setting has its default. Where nobody looks and no server can be wanted then, our modules need not
 * be read before somebody calls. A repository's own file cannot turn anything on, so it is not asked.
 */
export function isConfigured(agentDir: string, env: Readonly<Record<string, string | undefined>>): boolean {
	return (
		Object.keys(env).some((name) => name.startsWith("A2A_")) ||
		says(join(agentDir, "settings.json"), '"a2a"') ||
		says(join(agentDir, ".env.local"), "A2A_")
	);
}
