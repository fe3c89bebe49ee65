import assert from "node:assert/strict";
import { type Lan, lan, type Machine, obstacle } from "./mdns-namespaces.ts";

const worker = (host: string) => `announce ${JSON.stringify({ name: "worker", host, port: 9911, skills: ["docs"] })}`;

/** Asks until the answer is so; with what was last said when it is not after 25 seconds. */
async function eventually<T>(ask: () => Promise<T>, isSo: (value: T) => boolean): Promise<T> {
	const end = Date.now() + 25_000;
	for (;;) {
		const value = await ask();
		if (isSo(value)) return value;
		if (Date.now() > end) assert.fail(`still ${JSON.stringify(value)}`);
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
}

describe("peers/sources/mdns: between machines", function () {
	this.timeout(60_000);
	let net: Lan | undefined;
	let [here, there] = [] as unknown as [Machine, Machine];

	async function joined(addresses: readonly [string, string]): Promise<void> {
		net = await lan(addresses);
		[here, there] = net.machines;
	}
	afterEach(async () => {
		await net?.close();
		net = undefined;
	});

	describe("namespaces", () => {
		before(async function () {
			const why = await obstacle();
			if (!why) return;
			this.test?.parent?.tests.forEach((test) => {
				test.title += ` (skipped: ${why})`;
			});
			this.skip();
		});

		it("sessions find each other over IPv4, and say goodbye", async () => {
			await joined(["10.77.0.1/24", "10.77.0.2/24"]);
			const [one, two] = [here.session(), there.session()];
			assert.deepEqual(await one(worker("0.0.0.0")), []);
			assert.deepEqual(
				await eventually(
					() => two("list"),
					(seen) => seen.length > 0,
				),
				["worker http://10.77.0.1:9911/"],
			);
			assert.deepEqual(await one("list"), []);
			await one("close");
			await eventually(
				() => two("list"),
				(seen) => seen.length === 0,
			);
		});

		it("sessions find each other over IPv6 alone", async () => {
			await joined(["fd77::1/64", "fd77::2/64"]);
			const [one, two] = [here.session(), there.session()];
			await one(worker("::"));
			assert.deepEqual(
				await eventually(
					() => two("list"),
					(seen) => seen.length > 0,
				),
				["worker http://[fd77::1]:9911/"],
			);
		});

		it("a cable that is pulled and put back hurts neither side", async () => {
			await joined(["10.77.0.1/24", "10.77.0.2/24"]);
			const [one, two] = [here.session(), there.session()];
			await one(worker("0.0.0.0"));
			await eventually(
				() => two("list"),
				(seen) => seen.length > 0,
			);
			await here.link("down");
			await one(worker("0.0.0.0").replace("worker", "renamed"));
			assert.deepEqual(await one("list"), []);
			await here.link("up");
			await eventually(
				() => two("list"),
				(seen) => seen.join() === "renamed http://10.77.0.1:9911/",
			);
		});
	});

	describe("avahi", () => {
		before(async function () {
			const why = await obstacle(["avahi-daemon", "avahi-browse", "avahi-publish", "dbus-daemon"]);
			if (!why) return;
			this.test?.parent?.tests.forEach((test) => {
				test.title += ` (skipped: ${why})`;
			});
			this.skip();
		});

		it("finds a session, sees it change and leave, and is found", async () => {
			await joined(["10.77.0.1/24", "10.77.0.2/24"]);
			const env = await there.avahi();
			const browse = async () => {
				const lines = await there.output("avahi-browse", ["-rptk", "_a2a._tcp"], env).catch(() => "");
				return lines.split("\n").filter((each) => each.startsWith("=") && each.includes("box-a2a"));
			};
			const session = here.session();
			await session(worker("0.0.0.0"));
			const [line = ""] = await eventually(browse, (found) => found.length > 0);
			const [, , , name, type, , host, address, port] = line.split(";");
			assert.deepEqual([type, host, address, port], ["_a2a._tcp", `${name}.local`, "10.77.0.1", "9911"]);
			assert.match(line, /"name=worker"/);
			await session(worker("0.0.0.0").replace("worker", "renamed"));
			const changed = await eventually(browse, (found) => found.some((each) => each.includes("renamed")));
			assert.ok(
				changed.every((each) => !each.includes('"name=worker"')),
				"the old text does not stay beside the new",
			);
			there.start("avahi-publish", ["-s", "their agent", "_a2a._tcp", "7001", "name=adk", "path=/rpc"], env);
			await eventually(
				() => session("list"),
				(seen) => seen.join() === "adk http://10.77.0.2:7001/rpc",
			);
			await session("close");
			await eventually(browse, (found) => found.length === 0);
		});
	});
});
