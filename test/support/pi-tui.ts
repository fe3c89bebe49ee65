/** Drives the interactive Pi in a tmux of its own: keys in, screen out. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { type PiCommand, piEnv, piUnderTest } from "./pi-host.ts";

const run = promisify(execFile);

/** An interactive Pi. */
export interface PiTui {
	readonly pid: number;
	/** Types text, then the named keys of tmux: `Enter`, `Escape`, `C-d`, `Down`. */
	type(text: string, ...keys: string[]): Promise<void>;
	press(...keys: string[]): Promise<void>;
	/** What the screen shows now, without trailing spaces; `history` includes what has scrolled away. */
	screen(options?: { readonly history?: boolean }): Promise<string>;
	/** Waits until the screen shows `what` and gives the screen; throws with the last screen after `timeoutMs`. */
	waitFor(what: string | RegExp, timeoutMs?: number): Promise<string>;
	/** Waits until the screen no longer shows `what`. */
	waitGone(what: string | RegExp, timeoutMs?: number): Promise<string>;
	/** Exit code once Pi has ended within `timeoutMs`. */
	exited(timeoutMs?: number): Promise<number>;
	/** What Pi wrote to standard error. */
	stderr(): Promise<string>;
	/** Ends Pi and its tmux. May be called twice. */
	stop(): Promise<void>;
}

function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch {
		return false;
	}
}

/** Whether tmux is installed here. */
export async function hasTmux(): Promise<boolean> {
	return run("tmux", ["-V"]).then(
		() => true,
		() => false,
	);
}

/** Starts the interactive Pi on a screen of its own. Ready when `waitFor` says so. */
export async function startPiTui(options: {
	readonly pi?: PiCommand;
	readonly agentDir: string;
	readonly cwd: string;
	readonly args?: readonly string[];
	readonly env?: NodeJS.ProcessEnv;
	readonly columns?: number;
	readonly rows?: number;
}): Promise<PiTui> {
	const pi = options.pi ?? piUnderTest();
	const folder = await mkdtemp(join(tmpdir(), "pi-tui-"));
	// The first command on a socket starts the tmux server, and that one passes its own environment on to Pi.
	const { TMUX, TMUX_PANE, ...env } = piEnv(options.agentDir, { TERM: "xterm-256color", ...options.env });
	const tmux = (...args: string[]) =>
		run("tmux", ["-S", join(folder, "socket"), "-f", "/dev/null", ...args], { env }).then(({ stdout }) => stdout);
	const errors = join(folder, "stderr");
	const command = ["sh", "-c", 'exec "$@" 2>"$0"', errors, pi.node, pi.cli, ...(options.args ?? [])];
	const size = ["-x", String(options.columns ?? 120), "-y", String(options.rows ?? 40)];
	// A Pi that exits stays on the screen until its exit code has been read.
	const keep = ["set-option", "-g", "remain-on-exit", "on", ";"];
	await tmux("start-server", ";", ...keep, "new-session", "-d", ...size, "-s", "pi", "-c", options.cwd, ...command);
	const pid = Number(await tmux("display-message", "-p", "-t", "pi", "#{pane_pid}"));

	async function poll<T>(look: () => Promise<T | undefined>, timeoutMs: number): Promise<T | undefined> {
		for (const end = Date.now() + timeoutMs; ; await pause(50)) {
			const found = await look();
			if (found !== undefined || Date.now() > end) return found;
		}
	}
	const shows = (screen: string, what: string | RegExp) =>
		typeof what === "string" ? screen.includes(what) : what.test(screen);

	async function until(wanted: boolean, what: string | RegExp, timeoutMs: number): Promise<string> {
		let screen = "";
		const found = await poll(async () => {
			screen = await tui.screen();
			return shows(screen, what) === wanted ? screen : undefined;
		}, timeoutMs);
		if (found !== undefined) return found;
		throw new Error(
			`after ${timeoutMs} ms the screen still ${wanted ? "lacks" : "shows"} ${what}:\n${screen}\n${await tui.stderr()}`,
		);
	}

	let stopped: Promise<void> | undefined;
	const tui: PiTui = {
		pid,
		async type(text, ...keys) {
			await tmux("send-keys", "-t", "pi", "-l", "--", text);
			// Pi treats text and Enter that arrive together as one paste.
			if (keys.length > 0) await pause(150);
			if (keys.length > 0) await tui.press(...keys);
		},
		async press(...keys) {
			for (const key of keys) await tmux("send-keys", "-t", "pi", key);
		},
		async screen({ history = false } = {}) {
			const text = await tmux("capture-pane", "-p", "-t", "pi", ...(history ? ["-S", "-"] : []));
			return text.replace(/[ \t]+$/gm, "").trimEnd();
		},
		waitFor: (what, timeoutMs = 10_000) => until(true, what, timeoutMs),
		waitGone: (what, timeoutMs = 10_000) => until(false, what, timeoutMs),
		async exited(timeoutMs = 10_000) {
			const status = await poll(async () => {
				const dead = await tmux("display-message", "-p", "-t", "pi", "#{pane_dead} #{pane_dead_status}");
				return dead.startsWith("1") ? Number(dead.split(" ")[1]) : undefined;
			}, timeoutMs);
			if (status === undefined) throw new Error(`Pi is still there after ${timeoutMs} ms:\n${await tui.screen()}`);
			return status;
		},
		stderr: () => readFile(errors, "utf8").catch(() => ""),
		stop() {
			stopped ??= (async () => {
				if (isAlive(pid)) process.kill(pid, "SIGTERM");
				const gone = await poll(async () => (isAlive(pid) ? undefined : true), 3000);
				if (!gone) process.kill(pid, "SIGKILL");
				await tmux("kill-server").catch(() => undefined);
				await rm(folder, { recursive: true, force: true });
			})();
			return stopped;
		},
	};
	return tui;
}
