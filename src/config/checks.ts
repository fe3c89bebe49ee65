/** What only several keys together can tell. */
import { resolve } from "node:path";
import { fromHome } from "../lib/home.ts";
import { type GatewayConfig, gatewayOf } from "./entries.ts";
import type { Config, Values } from "./keys.ts";
import { NAME } from "./map-kinds.ts";
import type { Facts } from "./row.ts";

/** A remark about the key at `at`; `also`: the other key that has to do with it. */
export interface Finding {
	readonly at: string;
	readonly also?: string;
	readonly found?: string;
	readonly expected: string;
	readonly level: "warning" | "hint";
}

const LOOPBACK = /^(localhost|::1|127(\.\d{1,3}){3})$/i;

/** The values as the extension uses them: paths absolute, the single gateway among the others. */
export function settle(values: Values, facts: Facts, report: (finding: Finding) => void): Config {
	const warn = (at: string, expected: string, found?: string) =>
		report({ at, expected, level: "warning", ...(found ? { found } : {}) });
	const serverHost = values.serverHost.replace(/^\[(.*)\]$/, "$1");
	const named = Object.keys(values.peerTokens);
	if (!LOOPBACK.test(serverHost) && values.sharedToken === "" && named.length === 0)
		warn(
			"server.host",
			"a token as well (server.sharedToken or server.peerTokens); without one the server stays on 127.0.0.1",
			serverHost,
		);
	if (/^https?:\/\/(0\.0\.0\.0|\[::\])([:/]|$)/i.test(values.publicUrl))
		warn("server.publicUrl", "an address that others can reach", values.publicUrl);
	if (values.selfIdentity !== "" && named.length > 0 && !named.includes(values.selfIdentity))
		report({
			at: "selfIdentity",
			found: values.selfIdentity,
			expected: "a name in server.peerTokens; without one the shared token is presented",
			level: "hint",
		});
	for (const who of Object.keys(values.peerPolicies)) {
		const name = who.replace(/^peer:/, "");
		if (who !== "default" && !name.includes(":") && !named.includes(name))
			report({
				at: "server.peerPolicies",
				found: who,
				expected: "`default`, a name in server.peerTokens, or one with ip:, gateway: or mailbox: in front",
				level: "hint",
			});
	}
	for (const [name, { url, token }] of Object.entries(values.peers)) {
		const { protocol, hostname, origin } = new URL(url);
		if (token && protocol === "http:" && !LOOPBACK.test(hostname.replace(/^\[(.*)\]$/, "$1")))
			report({
				at: `peers.${name}.url`,
				found: origin,
				expected: "https: others on the way can read the token as it is",
				level: "hint",
			});
	}
	// A session must be able to miss a beat without being swept out.
	const ttlSec = values.ttlSec > values.heartbeatSec ? values.ttlSec : values.heartbeatSec * 4;
	if (ttlSec !== values.ttlSec)
		report({
			at: "discovery.local.ttlSec",
			also: "discovery.local.heartbeatSec",
			found: String(values.ttlSec),
			expected: `more than discovery.local.heartbeatSec (${values.heartbeatSec}); ${ttlSec} is used`,
			level: "warning",
		});
	const {
		gatewayEnabled,
		gatewayUrl,
		gatewayToken,
		gatewayName,
		gatewayUpstreamToken,
		gatewayHeartbeatSec,
		gatewayChannel,
		...config
	} = values;
	const single = gatewayOf(
		{
			...(gatewayEnabled === undefined ? {} : { enabled: gatewayEnabled }),
			...(gatewayUrl ? { url: gatewayUrl } : {}),
			...(gatewayToken ? { token: gatewayToken } : {}),
			...(gatewayName ? { name: gatewayName } : {}),
			...(gatewayUpstreamToken ? { upstreamToken: gatewayUpstreamToken } : {}),
			heartbeatSec: gatewayHeartbeatSec,
			channel: gatewayChannel,
		},
		(fault) => warn(`discovery.gateway.${fault.at}`, fault.expected),
	);
	return {
		...config,
		serverHost,
		ttlSec,
		workspace: resolve(facts.cwd, fromHome(config.workspace)),
		gateways: single ? withSingle(values.gateways, single) : values.gateways,
	};
}

/** An entry of the map that has the same key was given its name on purpose, so it wins. */
function withSingle(map: Config["gateways"], single: GatewayConfig): Config["gateways"] {
	const { hostname, port, protocol } = new URL(single.url);
	const key = `${hostname}-${port || (protocol === "https:" ? "443" : "80")}`
		.replace(/[^A-Za-z0-9._-]/g, "-")
		.replace(/^[.-]+/, "")
		.slice(0, 64);
	return Object.assign(Object.create(null), NAME.test(key) ? { [key]: single } : {}, map);
}
