import assert from "node:assert/strict";
import { ask, type ExtensionStage, openExtensionStage, serve } from "../support/extension-stage.ts";
import { hasTmux, type PiTui } from "../support/pi-tui.ts";

const START_MS = 30_000;

describe("/a2a in a real Pi", function () {
	this.timeout(90_000);
	let stage: ExtensionStage;
	let url: string;
	before(async () => {
		stage = await openExtensionStage();
		url = await serve(await stage.rpc({ a2a: { server: { port: 0 } } }));
	});
	after(() => stage.end());

	it("is plain text in print mode", async () => {
		const run = await stage.once("/a2a", { a2a: { peers: { worker: { url } } } });
		assert.match(run.stderr, /Peers \(1\)\n {2}○ worker +config[\s\S]*Ways \(1\)\n {2}○ server +not running/);
		assert.equal(run.stdout, "");
	});

	describe("at a terminal", () => {
		let pi: PiTui;
		before(async function () {
			if (!(await hasTmux())) this.skip();
			const a2a = { server: { enabled: true, port: 0 }, peers: { worker: { url } } };
			pi = await stage.tui({ a2a });
			await pi.waitFor(/A2A :\d+/, START_MS);
		});
		async function open(): Promise<void> {
			await pi.type("/a2a ", "Enter");
			await pi.waitFor(/\[Peers\]/);
		}

		it("shows a task as it comes, opens it, and cancels it", async () => {
			const port = /A2A :(\d+)/.exec(await pi.screen())?.[1];
			const caller = await stage.rpc({ a2a: {} });
			await open();
			await pi.press("Right");
			await pi.waitFor(/nothing here/);
			const told = ask(caller, `/a2a-send http://127.0.0.1:${port} HANG`, /canceled/);
			await pi.waitFor(/❯ ● a2a-\w+ .*working/, START_MS);
			await pi.press("Enter");
			await pi.waitFor(/Task: task-[\s\S]*← HANG/);
			await pi.press("c");
			await pi.waitFor(/State: canceled/);
			await pi.press("Escape");
			await pi.waitFor(/❯ ✗ a2a-\w+ .*canceled/);
			await pi.press("Escape");
			await pi.waitGone(/\[Tasks in\]/);
			await told;
		});

		it("sends a message to a peer, and puts an id into the editor", async () => {
			await open();
			await pi.press("s");
			await pi.waitFor("Message to worker");
			await pi.type("SAY from the board", "Enter");
			await pi.waitFor(/completed[\s\S]*from the board/, START_MS);
			await open();
			await pi.press("y");
			await pi.waitGone(/\[Peers\]/);
			await pi.waitFor(/^worker$/m);
			await pi.press("C-u");
		});
	});
});
