/** Media types of files by the ends of their names, and back. */

const TYPES: { readonly [extension: string]: string } = {
	txt: "text/plain",
	log: "text/plain",
	md: "text/markdown",
	csv: "text/csv",
	html: "text/html",
	htm: "text/html",
	css: "text/css",
	js: "text/javascript",
	mjs: "text/javascript",
	ts: "text/x-typescript",
	py: "text/x-python",
	sh: "text/x-shellscript",
	diff: "text/x-diff",
	patch: "text/x-diff",
	json: "application/json",
	jsonl: "application/jsonl",
	xml: "application/xml",
	yaml: "application/yaml",
	yml: "application/yaml",
	toml: "application/toml",
	pdf: "application/pdf",
	zip: "application/zip",
	gz: "application/gzip",
	tgz: "application/gzip",
	tar: "application/x-tar",
	docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	png: "image/png",
	jpg: "image/jpeg",
	jpeg: "image/jpeg",
	gif: "image/gif",
	webp: "image/webp",
	svg: "image/svg+xml",
	wav: "audio/wav",
	mp3: "audio/mpeg",
	mp4: "video/mp4",
};

/** What a file is called whose type is not known. */
export const BYTES = "application/octet-stream";

/** The types that `mediaTypeOf` tells apart. */
export const MEDIA_TYPES: readonly string[] = [...new Set(Object.values(TYPES))];

/** The end of a file name, in small letters, without its dot; "" when there is none. */
export const extensionOf = (name: string): string =>
	/[^./\\]\.([A-Za-z0-9]{1,12})$/.exec(name)?.[1]?.toLowerCase() ?? "";

/** The media type that a file of this name has; `application/octet-stream` when the name does not tell. */
export function mediaTypeOf(name: string): string {
	const extension = extensionOf(name);
	return (Object.hasOwn(TYPES, extension) ? TYPES[extension] : undefined) ?? BYTES;
}

/** The usual end of the name of a file of this type, such as `png`; "" when none is known. */
export function usualExtension(mediaType: string): string {
	const [bare = ""] = mediaType.toLowerCase().split(";");
	return Object.keys(TYPES).find((extension) => TYPES[extension] === bare.trim()) ?? "";
}

/** A media type as it may be shown and sent on: `type/subtype` in small letters, without parameters; else undefined. */
export function cleanMediaType(text: string | undefined): string | undefined {
	const bare = text?.split(";")[0]?.trim().toLowerCase() ?? "";
	return /^[a-z0-9][\w.+-]{0,60}\/[a-z0-9][\w.+-]{0,90}$/.test(bare) ? bare : undefined;
}
