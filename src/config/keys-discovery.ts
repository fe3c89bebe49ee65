/** Keys of finding and being found: registry, network, gateways. */
import { GATEWAY, gateway } from "./entries.ts";
import { flag, type Kind, whole, word } from "./key-kinds.ts";
import { map } from "./map-kinds.ts";
import { type KeyTable, rows } from "./row.ts";

const optional = <T>(kind: Kind<T>): Kind<T | undefined> => ({
	...kind,
	show: (value) => (value === undefined ? "(not set)" : kind.show(value)),
});

const discovery = rows("Discovery", "discovery", "it decides what is told to others, and who is listed");
const gateways = rows("Gateways", "discovery", "it hands your work and tokens to a third party");
const single = rows("Gateway", "discovery", "it hands your work and tokens to a third party");

export const DISCOVERY_KEYS = {
	localEnabled: discovery("discovery.local.enabled", flag(), true, {
		env: "A2A_DISCOVERY_LOCAL",
		help: "Announces this session to others on this machine, and lists them",
	}),
	heartbeatSec: discovery("discovery.local.heartbeatSec", whole(1, 3600), 15, {
		env: "A2A_HEARTBEAT_SEC",
		help: "Seconds between two signs of life in the local registry",
	}),
	ttlSec: discovery("discovery.local.ttlSec", whole(2, 86_400), 60, {
		env: "A2A_TTL_SEC",
		help: "Seconds after which a silent entry of the local registry is swept out",
	}),
	mdnsEnabled: discovery("discovery.mdns.enabled", flag(), false, {
		env: "A2A_DISCOVERY_MDNS",
		help: "Announces and finds sessions on the local network (needs the package `bonjour-service`)",
	}),
	mdnsServiceType: discovery(
		"discovery.mdns.serviceType",
		word(/^(?=.*[a-z])[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?$/i, "a service type of 1 to 15 letters, digits and dashes"),
		"a2a",
		{
			env: "A2A_MDNS_TYPE",
			help: "Type of the mDNS service, advertised as `_<type>._tcp`",
		},
	),
	enrichCard: discovery("discovery.enrichCard", flag(), true, {
		env: "A2A_ENRICH_CARD",
		help: "Puts folder, model and tools of the session on the Agent Card",
	}),
	gateways: gateways(
		"discovery.gateways",
		map(gateway, "key → gateway"),
		{},
		{
			help: "a2a-switchboard gateways: `{ enabled, url, token, name, upstreamToken, heartbeatSec, channel }`; their peers are called `gw/<key>/<name>`",
		},
	),
	gatewayEnabled: single("discovery.gateway.enabled", optional(GATEWAY.enabled), undefined, {
		env: "A2A_GATEWAY_ENABLED",
		help: "Registers at the single gateway",
		fallbackText: "true when URL and token are set",
	}),
	gatewayUrl: single("discovery.gateway.url", GATEWAY.url, "", {
		env: "A2A_GATEWAY_URL",
		help: "A single gateway, without a key of its own: host and port become its key",
	}),
	gatewayToken: single("discovery.gateway.token", GATEWAY.token, "", {
		env: "A2A_GATEWAY_TOKEN",
		help: "Token of that gateway",
	}),
	gatewayName: single("discovery.gateway.name", GATEWAY.name, "", {
		help: "Name to register there",
		fallbackText: "<agentName>-<port>",
	}),
	gatewayUpstreamToken: single("discovery.gateway.upstreamToken", GATEWAY.upstreamToken, "", {
		help: "Token that this gateway presents when it calls this session",
	}),
	gatewayHeartbeatSec: single("discovery.gateway.heartbeatSec", GATEWAY.heartbeatSec, 60, {
		help: "Seconds between two registrations there",
	}),
	gatewayChannel: single("discovery.gateway.channel", GATEWAY.channel, true, {
		help: "Keeps a channel open through which its peers can call, whatever firewall is between",
	}),
} as const satisfies KeyTable;
