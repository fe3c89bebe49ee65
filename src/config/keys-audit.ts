/** Keys of the audit log. */
import { whole } from "./key-kinds.ts";
import { type KeyTable, rows } from "./row.ts";

const audit = rows("Audit log", "none", "it decides what record of others' doings you have");

export const AUDIT_KEYS = {
	auditMaxMegabytes: audit("audit.maxMegabytes", whole(1, 10_000), 10, {
		help: "Size at which a new file of the audit log is begun, in megabytes",
	}),
	auditMaxAgeDays: audit("audit.maxAgeDays", whole(0, 3650, "no limit"), 90, {
		help: "Days after which a new file of the audit log is begun",
	}),
	auditKeep: audit("audit.keep", whole(1, 1000), 4, {
		help: "Full files of the audit log that are kept beside the one that is written",
	}),
} as const satisfies KeyTable;
