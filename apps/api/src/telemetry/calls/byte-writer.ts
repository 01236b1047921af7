/** Eight bytes of seven bits hold every number below it. */
const TOO_LARGE = 2 ** 56;

/** Writes numbers and texts one after the other into memory that grows as needed. Meant to be reused, see {@link clear}. */
export class ByteWriter {
  #bytes = Buffer.allocUnsafe(4096);
  #at = 0;

  /** The number of bytes written so far. */
  get length(): number {
    return this.#at;
  }

  /** Starts again. The memory is kept. */
  clear(): void {
    this.#at = 0;
  }

  /** Removes everything from a position on. */
  cutAt(position: number): void {
    this.#at = position;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = value;
  }

  /**
   * A non-negative integer below 2^56: seven bits in each byte, the lowest first (LEB128).
   *
   * @throws RangeError for any other number. An infinite one would be written without end
   */
  count(value: number): void {
    if (!Number.isInteger(value) || value < 0 || value >= TOO_LARGE) throw new RangeError(`${value} is no count`);
    this.#reserve(8);
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#at++] = rest;
  }

  /** An integer. The first byte has its sign and its lowest six bits. @throws RangeError for any other number */
  integer(value: number): void {
    if (!Number.isInteger(value)) throw new RangeError(`${value} is no integer`);
    const size = Math.abs(value);
    const rest = Math.floor(size / 0x40);
    this.byte(((size % 0x40) << 1) | (value < 0 ? 1 : 0) | (rest > 0 ? 0x80 : 0));
    if (rest > 0) this.count(rest);
  }

  /** A text, or null. */
  text(value: string | null): void {
    if (value === null) {
      this.byte(0);
      return;
    }
    const size = Buffer.byteLength(value);
    this.count(size + 1);
    this.#reserve(size);
    // ASCII is written faster as Latin-1.
    this.#at += this.#bytes.write(value, this.#at, size === value.length ? 'latin1' : 'utf8');
  }

  /** Bytes that are given as hexadecimal digits. */
  hex(digits: string): void {
    this.#reserve(digits.length / 2);
    this.#at += this.#bytes.write(digits, this.#at, 'hex');
  }

  /** The bytes from a position on, as a text that is equal for equal bytes. */
  keyFrom(position: number): string {
    return this.#bytes.toString('latin1', position, this.#at);
  }

  /** Appends what another writer has written. */
  append(other: ByteWriter): void {
    this.#reserve(other.#at);
    this.#at += other.#bytes.copy(this.#bytes, this.#at, 0, other.#at);
  }

  /** A copy of what was written. */
  toBytes(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#at));
  }

  #reserve(size: number): void {
    if (this.#at + size <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#at + size));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

/** Reads what a {@link ByteWriter} has written. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new RangeError('the bytes end too early');
    this.#at += 1;
    return byte;
  }

  count(): number {
    let [value, factor] = [0, 1];
    for (let byte = this.byte(); ; byte = this.byte()) {
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 0x80;
    }
  }

  integer(): number {
    const first = this.byte();
    const size = ((first & 0x7f) >>> 1) + (first < 0x80 ? 0 : this.count() * 0x40);
    return (first & 1) === 0 ? size : -size;
  }

  text(): string | null {
    const size = this.count();
    return size === 0 ? null : this.#slice(size - 1, 'utf8');
  }

  /** @param size in bytes */
  hex(size: number): string {
    return this.#slice(size, 'hex');
  }

  #slice(size: number, encoding: 'utf8' | 'hex'): string {
    const start = this.#at;
    this.#at += size;
    if (this.#at > this.#bytes.length) throw new RangeError('the bytes end too early');
    return this.#bytes.toString(encoding, start, this.#at);
  }
}
