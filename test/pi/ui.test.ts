import assert from "node:assert/strict";
import type { ExtensionContext } from "@mariozechner/pi-coding-agent";
import { modeOf, screenOf } from "../../src/pi/ui.ts";

function context(facts: object, themes = 1) {
	const said: unknown[][] = [];
	const ui = {
		notify: (...args: unknown[]) => said.push(["notify", ...args]),
		setStatus: (...args: unknown[]) => said.push(["status", ...args]),
		getAllThemes: () => Array.from({ length: themes }),
	};
	return { said, ctx: { hasUI: true, ui, ...facts } as unknown as ExtensionContext };
}

describe("pi/ui", () => {
	it("knows the mode where the host says it, and finds it where it does not", () => {
		assert.equal(modeOf(context({ mode: "json", hasUI: false }).ctx), "json");
		assert.equal(modeOf(context({ hasUI: false }).ctx), "print");
		assert.equal(modeOf(context({}).ctx), "tui");
		assert.equal(modeOf(context({}, 0).ctx), "rpc");
	});

	it("says nothing, and does not throw, once the session is over or was replaced", () => {
		// R104
		const stale = {
			get hasUI(): boolean {
				throw new Error("stale context");
			},
		} as unknown as ExtensionContext;
		for (const screen of [screenOf(() => undefined), screenOf(() => stale)]) {
			screen.notify("x");
			screen.status("x");
			assert.equal(screen.mode, undefined);
		}
	});

	it("opens one dialog at a time, also when one of them fails", async () => {
		const screen = screenOf(() => context({}).ctx);
		const order: string[] = [];
		let close = (): void => undefined;
		const first = screen.dialog(async () => {
			order.push("first opens");
			await new Promise<void>((resolve) => {
				close = resolve;
			});
			order.push("first closes");
			throw new Error("broken");
		});
		const second = screen.dialog(async () => order.push("second opens"));
		await new Promise((resolve) => setImmediate(resolve));
		assert.deepEqual(order, ["first opens"]);
		close();
		await assert.rejects(first, /broken/);
		await second;
		assert.deepEqual(order, ["first opens", "first closes", "second opens"]);
	});

	it("opens no dialog where there is no terminal", async () => {
		const screen = screenOf(() => context({}, 0).ctx);
		assert.equal(await screen.dialog(async () => "opened"), undefined);
	});
});
