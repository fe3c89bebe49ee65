import { connectHttp } from "../../src/bindings/http/client.ts";
import { createHttpPool } from "../../src/bindings/http/pool.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { describeBinding } from "./contract.ts";
import { serve } from "./http-support.ts";

describeBinding("HTTP", async (agent) => {
	const server = await serve({
		agent,
		tokens: { alice: "token-of-alice", bob: "token-of-bob" },
		extensions: [{ uri: "https://example.com/ext/v1" }],
	});
	const pool = createHttpPool();
	return {
		as: (name) =>
			connectHttp(
				{
					url: new URL(server.url),
					token: `token-of-${name}`,
					sendTimeoutMs: 5_000,
					streamTimeoutMs: 5_000,
					retryAttempts: 0,
					verifySsl: true,
					check: async () => undefined,
					pool,
					clock: systemClock,
				},
				new AbortController().signal,
			),
		async close() {
			pool.close();
			await server.close();
		},
	};
});
