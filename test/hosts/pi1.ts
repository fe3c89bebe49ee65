/**
 * `npm run test:pi1`: the host tests on Pi 1.6.0 under Node 22. Both come from npm into `test/hosts/pi1`, installed
 * when they are missing or differ from the lock. Mocha itself runs under this Node. Arguments are passed on to mocha.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = join(root, "test/hosts/pi1");

interface Lock {
	readonly packages?: { readonly [path: string]: { readonly version?: string; readonly optional?: boolean } };
}

function readLock(path: string): Lock | undefined {
	return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Lock) : undefined;
}

/** Whether what npm says it has installed is what the lock asks for; optional packages depend on the system. */
function isInstalled(): boolean {
	const wanted = readLock(join(folder, "package-lock.json"))?.packages ?? {};
	const have = readLock(join(folder, "node_modules/.package-lock.json"))?.packages;
	if (!have || !existsSync(join(folder, "node_modules/.bin/node"))) return false;
	return Object.entries(wanted).every(
		([path, { version, optional }]) => path === "" || optional || have[path]?.version === version,
	);
}

function run(command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): number {
	const shell = process.platform === "win32";
	const { status, error } = spawnSync(command, args, { cwd, stdio: "inherit", shell, env: { ...process.env, ...env } });
	if (error) process.stderr.write(`${command}: ${error.message}\n`);
	return status ?? 1;
}

function main(): number {
	if (!isInstalled() && run("npm", ["ci"], folder) !== 0) return 1;
	const mocha = join(root, "node_modules/mocha/bin/mocha.js");
	const common = ["--no-config", "--node-option", "import=tsx", "--timeout", "60000", "--forbid-only"];
	const own = ["--ignore", "test/hosts/pi1/node_modules/**", "test/hosts/**/*.test.ts"];
	return run(process.execPath, [mocha, ...common, ...own, ...process.argv.slice(2)], root, { PI_HOST: "1.6.0" });
}

process.exitCode = main();
