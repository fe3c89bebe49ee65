import assert from "node:assert/strict";
import { cleanMediaType, extensionOf, MEDIA_TYPES, mediaTypeOf, usualExtension } from "../../src/lib/media-types.ts";

describe("media types", () => {
	it("follow from the end of a name, whatever its case; a name that does not tell is bytes", () => {
		assert.equal(mediaTypeOf("A.PNG"), "image/png");
		assert.equal(mediaTypeOf("b.tar.gz"), "application/gzip");
		for (const name of ["", "png", ".png", "x.", "x.constructor", "a/.md"])
			assert.equal(mediaTypeOf(name), "application/octet-stream", name);
	});

	it("lead back to an end that means the same", () => {
		for (const type of MEDIA_TYPES) assert.equal(mediaTypeOf(`x.${usualExtension(type)}`), type);
		assert.equal(usualExtension("Text/Plain; charset=utf-8"), "txt");
		assert.equal(usualExtension("a/b"), "");
	});

	it("are cleaned of parameters and of all that is none", () => {
		assert.equal(cleanMediaType(" Image/PNG; x=y"), "image/png");
		for (const text of [undefined, "", "png", "a/b/c", "a/ b", "image/p\nng", `a/${"b".repeat(100)}`])
			assert.equal(cleanMediaType(text), undefined);
	});

	it("see the end of a name in the last of its parts", () => {
		assert.equal(extensionOf("dir.d/file"), "");
		assert.equal(extensionOf("x.Md"), "md");
	});
});
