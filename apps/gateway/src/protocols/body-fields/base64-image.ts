import { GatewayError } from '#inference/errors.js';
import type { ImageMediaType } from '#inference/turn.js';
import { invalidField } from './body-fields.js';

/** Limit of an image in decoded bytes. */
export const IMAGE_BYTES_MAX = 5 * 1024 * 1024;

interface InlineImage {
  mediaType: ImageMediaType;
  /** Canonical base64: padded, without white space. */
  base64: string;
}

/**
 * Parses `data:image/png;base64,…`. Throws `image_url_not_supported` for a link, which is never fetched, `request_too_large` above 5 MB
 * decoded, and `unsupported_content` for another media type or bytes of another kind.
 */
export function parseImageDataUrl(url: string, param: string): InlineImage {
  const comma = url.slice(0, HEAD_LENGTH_MAX).indexOf(',');
  const head = DATA_URL_HEAD.exec(comma === -1 ? '' : url.slice(0, comma));
  const [, mediaType, encoding] = head ?? [];
  if (mediaType === undefined || encoding === undefined) throw notInlineImage(url, param);
  return parseBase64Image(mediaType, url.slice(comma + 1), param);
}

/**
 * Parses an image with separate media type and data, as in the messages format. The media type becomes that of the bytes, because
 * vendors refuse an image with a wrong label. Throws the errors of `parseImageDataUrl`.
 */
export function parseBase64Image(label: string, data: string, param: string): InlineImage {
  if (!MEDIA_TYPES.has(label.toLowerCase())) throw notKnownImage(param);
  const base64 = canonicalBase64(data, param);
  const mediaType = detectMediaType(Buffer.from(base64.slice(0, HEAD_DIGITS), 'base64'));
  if (mediaType === undefined) throw notKnownImage(param);
  return { mediaType, base64 };
}

const HEAD_LENGTH_MAX = 256;
const DATA_URL_HEAD = /^\s*data:([^;,]*)(?:;[^;,]*)*(;\s*base64)\s*$/i;
const LINK = /^\s*[a-z][a-z0-9+.-]*:/i;

/** Clients send `image/jpg` although it is not registered. */
const MEDIA_TYPES = new Set(['image/png', 'image/jpeg', 'image/jpg', 'image/webp', 'image/gif']);

/** Base64 digits of the first 12 bytes, which tell the kind of an image. */
const HEAD_DIGITS = 16;

function detectMediaType(head: Buffer): ImageMediaType | undefined {
  const text = head.toString('latin1');
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (text.startsWith('GIF87a') || text.startsWith('GIF89a')) return 'image/gif';
  return text.startsWith('RIFF') && text.startsWith('WEBP', 8) ? 'image/webp' : undefined;
}

function notKnownImage(param: string): GatewayError {
  return new GatewayError('unsupported_content', `\`${param}\` must be a PNG, JPEG, WebP or GIF image.`, { param });
}

function notInlineImage(url: string, param: string): GatewayError {
  const start = url.slice(0, HEAD_LENGTH_MAX);
  if (LINK.test(start) && !/^\s*data:/i.test(start)) {
    return new GatewayError('image_url_not_supported', `\`${param}\` is a link. Links are not fetched: send a base64 data URL.`, { param });
  }
  return invalidField(param, 'must be a base64 data URL such as `data:image/png;base64,…`');
}

/** Validates and pads base64. Each check is one pass without backtracking, because the text may have megabytes. */
function canonicalBase64(data: string, param: string): string {
  const compact = /\s/.test(data) ? data.replace(/\s+/g, '') : data;
  const padding = compact.endsWith('==') ? 2 : compact.endsWith('=') ? 1 : 0;
  const digits = compact.length - padding;
  if (Math.floor((digits * 3) / 4) > IMAGE_BYTES_MAX) {
    throw new GatewayError('request_too_large', `\`${param}\` is larger than 5 MB.`, { param });
  }
  const strayAt = compact.search(/[^A-Za-z0-9+/]/);
  if (digits === 0 || digits % 4 === 1 || (strayAt !== -1 && strayAt < digits)) throw invalidField(param, 'is not valid base64');
  return compact.slice(0, digits) + '='.repeat((4 - (digits % 4)) % 4);
}
