/** Machines on one network, made of network namespaces of Linux; needs root. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const CHILD = fileURLToPath(new URL("./mdns-child.ts", import.meta.url));

export interface Machine {
	/** Name of its namespace. */
	readonly space: string;
	/** Starts a session there; commands as `mdns-child.ts` has them, answered by what it said. */
	session(): (command: string) => Promise<readonly string[]>;
	/** Runs a program there until the network is given back. */
	start(program: string, args: readonly string[], env?: Record<string, string>): ChildProcess;
	/** The output of a program that ends by itself. */
	output(program: string, args: readonly string[], env?: Record<string, string>): Promise<string>;
	link(state: "up" | "down"): Promise<void>;
	/** Starts avahi there with a message bus of its own; the environment in which its tools find it. */
	avahi(): Promise<Record<string, string>>;
}

export interface Lan {
	readonly machines: readonly [Machine, Machine];
	close(): Promise<void>;
}

/** Two machines; `addresses` with prefix length, such as `10.77.0.1/24`. IPv4 has to be asked for. */
export async function lan(addresses: readonly [string, string]): Promise<Lan> {
	const id = `a2a-${process.pid}`;
	const children: ChildProcess[] = [];
	const spaces = [`${id}-0`, `${id}-1`] as const;
	const dir = await mkdtemp(join(tmpdir(), "mdns-"));
	const ip = (...args: string[]) => run("ip", args);

	for (const space of spaces) await ip("netns", "add", space);
	await ip("link", "add", "lan", "netns", spaces[0], "type", "veth", "peer", "name", "lan", "netns", spaces[1]);
	for (const [at, space] of spaces.entries()) {
		// Without it an address of IPv6 takes seconds before it may be used.
		await run("ip", ["netns", "exec", space, "sysctl", "-qw", "net.ipv6.conf.all.accept_dad=0"]).catch(() => undefined);
		await ip("-n", space, "link", "set", "lo", "up");
		await ip("-n", space, "link", "set", "lan", "up");
		await ip(
			"-n",
			space,
			"addr",
			"add",
			addresses[at] ?? "",
			"dev",
			"lan",
			...(addresses[at]?.includes(":") ? ["nodad"] : []),
		);
	}

	const machine = (space: string): Machine => {
		const inside = (program: string, args: readonly string[]) => ["netns", "exec", space, program, ...args];
		function start(program: string, args: readonly string[], env: Record<string, string> = {}): ChildProcess {
			const child = spawn("ip", inside(program, args), {
				env: { ...process.env, ...env },
				stdio: ["pipe", "pipe", "ignore"],
			});
			children.push(child);
			return child;
		}
		const output: Machine["output"] = async (program, args, env = {}) =>
			(await run("ip", inside(program, args), { env: { ...process.env, ...env } })).stdout;
		return {
			space,
			start,
			output,
			session() {
				const child = start(process.execPath, ["--import", "tsx", CHILD]);
				if (!child.stdout || !child.stdin) throw new Error("no pipes");
				const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
				return async (command) => {
					child.stdin?.write(`${command}\n`);
					const { value } = await lines.next();
					return JSON.parse(value);
				};
			},
			link: async (state) => void (await ip("-n", space, "link", "set", "lan", state)),
			async avahi() {
				const bus = `unix:path=${dir}/bus`;
				const open = '<allow own="*"/><allow user="*"/><allow send_destination="*"/><allow eavesdrop="true"/>';
				const policy = `<type>system</type><listen>${bus}</listen><policy context="default">${open}</policy>`;
				await writeFile(join(dir, "bus.conf"), `<busconfig>${policy}</busconfig>`);
				await writeFile(join(dir, "avahi.conf"), "[server]\nhost-name=theirs\nuse-ipv6=yes\n[publish]\n");
				const env = { DBUS_SYSTEM_BUS_ADDRESS: bus };
				const dbus = start("dbus-daemon", [`--config-file=${dir}/bus.conf`, "--nofork", "--print-address"]);
				if (dbus.stdout) await once(dbus.stdout, "data");
				// Its runtime folder may belong to one that runs on this machine.
				const daemon = `avahi-daemon -f ${dir}/avahi.conf --no-drop-root --no-chroot --no-rlimits 2>/dev/null`;
				const script = `mkdir -p /run/avahi-daemon && mount -t tmpfs none /run/avahi-daemon && exec ${daemon}`;
				start("unshare", ["-m", "sh", "-c", script], env);
				return env;
			},
		};
	};

	return {
		machines: [machine(spaces[0]), machine(spaces[1])],
		async close() {
			for (const child of children) {
				if (child.exitCode !== null || child.signalCode !== null) continue;
				child.kill("SIGKILL");
				await once(child, "exit");
			}
			for (const space of spaces) {
				// What was started by a shell there has a number of its own.
				const { stdout } = await run("ip", ["netns", "pids", space]);
				for (const pid of stdout.split("\n").filter(Boolean)) process.kill(Number(pid), "SIGKILL");
				await ip("netns", "del", space);
			}
			await rm(dir, { recursive: true, force: true });
		},
	};
}

/** Why there can be no such machines here; undefined when there can. `programs` are needed too. */
export async function obstacle(programs: readonly string[] = []): Promise<string | undefined> {
	if (!process.env.MDNS_NETWORK_TESTS) return "MDNS_NETWORK_TESTS is not set";
	if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs Linux and root";
	for (const program of ["ip", "unshare", ...programs]) {
		const there = await run("sh", ["-c", `command -v ${program}`]).then(
			() => true,
			() => false,
		);
		if (!there) return `${program} is not installed`;
	}
	const probe = `a2a-${process.pid}-probe`;
	try {
		await run("ip", ["netns", "add", probe]);
		await run("ip", ["netns", "del", probe]);
		return undefined;
	} catch {
		return "network namespaces are not allowed";
	}
}
