/** The values that must never be shown, whatever they look like. */
import type { Config } from "./keys.ts";

/** Every token that is written down in the configuration. */
export function secretsOf({ sharedToken, pushSecret, peerTokens, peers, gateways }: Config): readonly string[] {
	return [
		sharedToken,
		pushSecret,
		...Object.values(peerTokens),
		...Object.values(peers).map(({ token }) => token),
		...Object.values(gateways).flatMap(({ token, upstreamToken }) => [token, upstreamToken]),
	].filter((value) => value !== undefined && value !== "") as string[];
}
