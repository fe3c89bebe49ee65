/** A process that drops letters into an inbox. Arguments: root, agent, sender, how many. */
import { envelope } from "../../src/bindings/mailbox/messages.ts";
import { MailRoot } from "../../src/bindings/mailbox/root.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { nullLog } from "../../src/lib/log.ts";

const [path = "", to = "", from = "", count = "0"] = process.argv.slice(2);
const keep = { forMs: 60_000, atMost: 1_000 };
const box = new MailRoot(path, { clock: systemClock, log: nullLog, keep, maxBytes: 1_000_000 }).box(to, "inbox");
for (let n = 0; n < Number(count); n++) {
	await box.update([{ put: envelope({ id: `${from}-${n}`, type: "request", from, to, payload: {} }, Date.now()) }]);
}
