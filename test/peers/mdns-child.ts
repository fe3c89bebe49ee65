/**
 * A session in a process of its own, in whatever network that process stands. A line of standard input is a command:
 * `announce <json>`, `list`, `close`; each is answered by a line of JSON.
 */
import { createInterface } from "node:readline";
import { systemClock } from "../../src/lib/clock.ts";
import { fromMdns } from "../../src/peers/sources/mdns.ts";

const tell = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);
const log = {
	warn: (text: string, cause?: unknown) => tell({ warning: `${text} ${cause ?? ""}` }),
	info: () => undefined,
};
const mdns = fromMdns({ type: "a2a", clock: systemClock, log, pid: process.pid, hostname: "box" });

for await (const line of createInterface({ input: process.stdin })) {
	const [command, ...rest] = line.split(" ");
	if (command === "announce") await mdns.announce(JSON.parse(rest.join(" ")));
	if (command === "close") await mdns.close();
	const peers = command === "list" ? await mdns.list() : [];
	tell(peers.map(({ name, address }) => `${name} ${address.via === "http" ? address.url.href : ""}`));
}
