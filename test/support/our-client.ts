/** Our client half alone, connected to a server of somebody else. */
import { connectHttp } from "../../src/bindings/http/client.ts";
import { createHttpPool } from "../../src/bindings/http/pool.ts";
import { urlCheck } from "../../src/guard/urls.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Driver } from "../interop/trials.ts";
import { ourDriver } from "./sdk-drivers.ts";

export interface OurClient {
	readonly driver: Driver;
	close(): void;
}

/** Reads the card at `url` and connects as it says. */
export async function ourClient(url: string, token?: string): Promise<OurClient> {
	const pool = createHttpPool();
	const target = {
		...{ url: new URL(url), token, sendTimeoutMs: 10_000, streamTimeoutMs: 10_000, retryAttempts: 0 },
		...{ verifySsl: true, check: urlCheck({ context: "configured" }), pool, clock: systemClock },
	};
	const close = () => pool.close();
	try {
		return { driver: ourDriver(await connectHttp(target, new AbortController().signal)), close };
	} catch (error) {
		close();
		throw error;
	}
}
