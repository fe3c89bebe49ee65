/** Every operation, for every pair of us and the official JavaScript SDKs. `pairs.ts` says what a pair cannot have. */
import assert from "node:assert/strict";
import { RestTransport } from "a2a-js-sdk-03/client";
import { ourClient } from "../support/our-client.ts";
import { sdkClient } from "../support/sdk-client.ts";
import { sdkClient03 } from "../support/sdk-client-03.ts";
import { sdkDriver, sdkDriver03 } from "../support/sdk-drivers.ts";
import { sdkServer } from "../support/sdk-server.ts";
import { sdkServer03 } from "../support/sdk-server-03.ts";
import { startUs } from "../support/sdk-us.ts";
import { JS_PAIRS, type Pair, pairName, TRIALS } from "./pairs.ts";
import { type Driver, type Hooks, OPERATION_TRIALS, startHooks } from "./trials.ts";

const TOKEN = ["let", "me", "in"].join("-");

interface Stage {
	readonly driver: Driver;
	close(): Promise<void>;
}

/** The peer's client in front of our server. */
async function theirClient({ version, binding }: Pair): Promise<Stage> {
	const us = await startUs({ token: TOKEN });
	try {
		if (version === "1.0") return { driver: sdkDriver(await sdkClient(us.url, TOKEN, binding)), close: us.close };
		const client = await sdkClient03(us.url, { token: TOKEN, binding, version: true });
		// Where the card has not what was preferred, a client takes another without a word.
		assert.equal(client.transport instanceof RestTransport, binding === "HTTP+JSON");
		return { driver: sdkDriver03(client), close: us.close };
	} catch (error) {
		await us.close();
		throw error;
	}
}

/** Our client in front of the peer's server. */
async function theirServer({ version, binding }: Pair): Promise<Stage> {
	const server = await (version === "1.0" ? sdkServer : sdkServer03)({ binding, whole: true });
	try {
		const client = await ourClient(server.url);
		return {
			driver: client.driver,
			close() {
				client.close();
				return server.close();
			},
		};
	} catch (error) {
		await server.close();
		throw error;
	}
}

for (const pair of JS_PAIRS)
	describe(pairName(pair), () => {
		let stage: Stage | undefined;
		let hooks: Hooks | undefined;
		before(async () => {
			hooks = await startHooks();
			stage = await (pair.server === "us" ? theirClient(pair) : theirServer(pair));
		});
		after(async () => {
			await stage?.close();
			hooks?.close();
		});

		for (const trial of TRIALS) {
			const lacks = pair.lacks?.[trial];
			const run = async () => {
				assert.ok(stage && hooks);
				await OPERATION_TRIALS[trial](stage.driver, hooks);
			};
			if (lacks === undefined) it(`runs ${trial}`, run);
			else it(`has no ${trial}: ${lacks}`, () => assert.rejects(run()));
		}
	});

it("the pairs cover both bindings, both versions and both directions", () => {
	const covered = JS_PAIRS.map(({ server, version, binding }) => `${server} ${version} ${binding}`);
	assert.equal(new Set(covered).size, 8);
});
