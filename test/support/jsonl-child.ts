/** A process that appends numbered lines to a small rotating file. Arguments: path, name, lines. */
import { JsonlFile } from "../../src/lib/jsonl.ts";

const [path = "", name = "", lines = "0"] = process.argv.slice(2);
const file = new JsonlFile(path, { maxBytes: 5_000, keep: 100 });
for (let n = 0; n < Number(lines); n++) {
	const written = file.append({ name, n });
	if (n % 7 === 0) await written;
}
await file.close();
