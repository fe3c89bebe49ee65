import assert from "node:assert/strict";
import { metrics } from "../../src/guard/metrics.ts";
import { manualClock } from "../../src/lib/clock.ts";
import type { Ended } from "../../src/protocol/agent.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import { get, send } from "./steps.ts";

describe("metrics", () => {
	it("count what came in, how it ended and how long it took", async () => {
		const clock = manualClock();
		const counts = metrics(clock);
		const begin = (step = send("peer:a")) => counts.policy(step) as Ended;
		const first = begin();
		await clock.advance(300);
		first({ result: {} });
		const second = begin();
		await clock.advance(101);
		second({ error: new A2AError("BusyError") });
		begin(get("peer:a", "task-1"))({ error: new Error("a fault of ours") });
		const open = begin();
		assert.deepEqual(counts.snapshot(), {
			uptime: { seconds: 0 },
			requests: { inFlight: 1 },
			inbound: {
				SendMessage: { total: 2, failed: 1, averageMs: 201, maxMs: 300, lastMs: 101 },
				GetTask: { total: 1, failed: 1, averageMs: 0, maxMs: 0, lastMs: 0 },
			},
			outbound: {},
			refused: { BusyError: 1 },
		});
		open({});
		assert.ok(!("requests" in counts.snapshot()));
	});

	it("count what went out", async () => {
		const clock = manualClock();
		const counts = metrics(clock);
		counts.outbound("SendMessage", false, 10);
		counts.outbound("SendMessage", true, 30);
		await clock.advance(90_000);
		assert.deepEqual(counts.snapshot(), {
			uptime: { seconds: 90 },
			inbound: {},
			outbound: { SendMessage: { total: 2, failed: 1, averageMs: 20, maxMs: 30, lastMs: 30 } },
			refused: {},
		});
	});
});
