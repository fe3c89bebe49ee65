import assert from "node:assert/strict";
import { Channel } from "../../src/lib/channel.ts";

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
	const list: T[] = [];
	for await (const item of items) list.push(item);
	return list;
}

describe("a channel", () => {
	it("gives every value in order, whether it was written before or while it is read", async () => {
		const channel = new Channel<number>();
		channel.push(1);
		const read = all(channel);
		await new Promise(setImmediate);
		channel.push(2);
		channel.push(3);
		await new Promise(setImmediate);
		channel.push(4);
		channel.end();
		assert.deepEqual(await read, [1, 2, 3, 4]);
		assert.equal(channel.push(5), false);
	});

	it("gives what was queued before it ends with an error", async () => {
		const channel = new Channel<number>();
		channel.push(1);
		channel.end(new Error("broken"));
		channel.end();
		const iterator = channel[Symbol.asyncIterator]();
		assert.deepEqual(await iterator.next(), { done: false, value: 1 });
		await assert.rejects(iterator.next(), /broken/);
	});

	it("cuts off a reader that is further behind than its bound, after what was queued", async () => {
		const channel = new Channel<number>(2);
		assert.deepEqual([channel.push(1), channel.push(2), channel.overflowed], [true, true, false]);
		assert.deepEqual([channel.push(3), channel.overflowed, channel.push(4)], [false, true, false]);
		assert.deepEqual(await all(channel), [1, 2]);
	});

	it("bounds what is unread, not what has been read", async () => {
		const channel = new Channel<number>(2);
		const iterator = channel[Symbol.asyncIterator]();
		for (let n = 0; n < 1_000; n++) {
			assert.equal(channel.push(n), true);
			assert.equal((await iterator.next()).value, n);
		}
	});

	it("is closed by a reader who leaves", async () => {
		const channel = new Channel<number>();
		channel.push(1);
		channel.push(2);
		for await (const value of channel) {
			assert.equal(value, 1);
			break;
		}
		assert.equal(channel.push(3), false);
		assert.deepEqual(await all(channel), []);
	});
});
