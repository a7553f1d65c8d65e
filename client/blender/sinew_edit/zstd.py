"""Zstandard frames to bytes (RFC 8878), without dictionaries and checksums' checks.

For the SURFACE message, whose sections are packed: Python before 3.14 brings no decoder, and this
add-on installs nothing. Written for being right rather than fast: about a megabyte a second.
"""


class BadFrame(ValueError):
    pass


class _Bits(object):
    """A bit stream read from its end, as FSE and Huffman streams are."""

    def __init__(self, data):
        if not data or data[-1] == 0:
            raise BadFrame("a bit stream without its end mark")
        self.data = data
        self.left = 8 * len(data) - 8 + data[-1].bit_length() - 1

    def take(self, count):
        """The next bits; past the beginning they are zero, and `left` goes below zero."""
        if count == 0:
            return 0
        self.left -= count
        low = self.left
        if low < 0:
            if low < -64:
                raise BadFrame("a bit stream ends too early")
            have = count + low
            if have <= 0:
                return 0
            return (int.from_bytes(self.data[:(have + 7) // 8], "little") & ((1 << have) - 1)) << -low
        first = low >> 3
        return (int.from_bytes(self.data[first:(low + count + 7) >> 3], "little") >> (low & 7)) & ((1 << count) - 1)


def _fse_counts(data, at, most_log, most_symbol):
    """Reads a table's probabilities; (accuracy log, counts, position behind)."""
    bit, value = 8 * at, int.from_bytes(data[at:at + 512], "little")
    first = bit

    def peek(count):
        return (value >> (bit - first)) & ((1 << count) - 1)

    log = peek(4) + 5
    bit += 4
    if log > most_log:
        raise BadFrame("a table is too large")
    left, counts = (1 << log) + 1, []
    while left > 1:
        if len(counts) > most_symbol:
            raise BadFrame("a table has too many symbols")
        bits = left.bit_length()
        short = (1 << bits) - 1 - left
        number = peek(bits - 1)
        if number < short:
            bit += bits - 1
        else:
            number = peek(bits)
            if number >= 1 << (bits - 1):
                number -= short
            bit += bits
        count = number - 1
        left -= 1 if count < 0 else count
        counts.append(count)
        while count == 0:
            repeat = peek(2)
            bit += 2
            counts.extend([0] * repeat)
            if repeat < 3:
                break
    end = (bit + 7) // 8
    if left != 1 or end > len(data):
        raise BadFrame("a table's probabilities do not add up")
    return log, counts, end


def _fse_table(log, counts):
    """[(symbol, bits, base)] by state."""
    size = 1 << log
    symbols, high = [0] * size, size
    for symbol, count in enumerate(counts):
        if count == -1:
            high -= 1
            symbols[high] = symbol
    at, step, mask = 0, (size >> 1) + (size >> 3) + 3, size - 1
    for symbol, count in enumerate(counts):
        for _ in range(max(count, 0)):
            symbols[at] = symbol
            at = (at + step) & mask
            while at >= high:
                at = (at + step) & mask
    following, table = [max(1, abs(c)) for c in counts], []
    for state in range(size):
        symbol = symbols[state]
        number = following[symbol]
        following[symbol] += 1
        bits = log - number.bit_length() + 1
        table.append((symbol, bits, (number << bits) - size))
    return log, table


def _huffman_weights(data, at):
    head = data[at]
    at += 1
    if head >= 128:
        count = head - 127
        packed = data[at:at + (count + 1) // 2]
        weights = [(packed[i // 2] >> (0 if i % 2 else 4)) & 15 for i in range(count)]
        return weights, at + (count + 1) // 2
    end = at + head
    log, counts, at = _fse_counts(data[:end], at, 6, 255)
    _, table = _fse_table(log, counts)
    bits = _Bits(data[at:end])
    states, weights, turn = [bits.take(log), bits.take(log)], [], 0
    while len(weights) < 256:
        symbol, count, base = table[states[turn]]
        weights.append(symbol)
        if bits.left < count:  # the end: the other state has one more
            weights.append(table[states[1 - turn]][0])
            return weights, end
        states[turn] = base + bits.take(count)
        turn = 1 - turn
    raise BadFrame("too many Huffman weights")


def _huffman(data, at):
    """((bits, [(symbol, bits)]), position behind)"""
    weights, at = _huffman_weights(data, at)
    total = sum(1 << (w - 1) for w in weights if w > 0)
    if total == 0:
        raise BadFrame("a Huffman table without symbols")
    log = total.bit_length()
    rest = (1 << log) - total
    if rest & (rest - 1) or log > 11:
        raise BadFrame("a Huffman table does not add up")
    weights = weights + [rest.bit_length()]
    table = []
    for weight in range(1, log + 1):
        for symbol, w in enumerate(weights):
            if w == weight:
                table.extend([(symbol, log + 1 - weight)] * (1 << (weight - 1)))
    if len(table) != 1 << log:
        raise BadFrame("a Huffman table does not add up")
    return (log, table), at


def _huffman_stream(tree, data, count):
    log, table = tree
    bits = _Bits(data)
    out, left, mask = bytearray(), bits.left, (1 << log) - 1
    held, have, at = 0, 0, left  # `held`: the `have` next bits; `at`: what is below them
    for _ in range(count):
        if have < log and at > 0:
            more = min(at, 256)
            low = at - more
            piece = int.from_bytes(data[low >> 3:(at + 7) >> 3], "little") >> (low & 7) & ((1 << more) - 1)
            held, have, at = (held & ((1 << have) - 1)) << more | piece, have + more, low
        index = (held >> (have - log) if have >= log else held << (log - have)) & mask
        symbol, used = table[index]
        out.append(symbol)
        have -= used
        if have < 0:
            raise BadFrame("a Huffman stream ends too early")
        held &= (1 << have) - 1
    if have != 0 or at != 0:
        raise BadFrame("a Huffman stream is longer than its literals")
    return out


_LENGTHS = [(i, 0) for i in range(16)] + [(16, 1), (18, 1), (20, 1), (22, 1), (24, 2), (28, 2), (32, 3), (40, 3),
                                         (48, 4), (64, 6)] + [(1 << i, i) for i in range(7, 17)]
_MATCHES = [(i + 3, 0) for i in range(32)] + [(35, 1), (37, 1), (39, 1), (41, 1), (43, 2), (47, 2), (51, 3), (59, 3),
                                             (67, 4), (83, 4), (99, 5)] + [((1 << i) + 3, i) for i in range(7, 17)]
_KINDS = (  # literal lengths, offsets, match lengths: most log, most symbol, the predefined table
    (9, 35, 6, [4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1,
                -1, -1]),
    (8, 31, 5, [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1]),
    (9, 52, 6, [1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1]),
)


class _Frame(object):
    def __init__(self, most):
        self.most, self.out = most, bytearray()
        self.tree, self.tables, self.recent = None, [None, None, None], [1, 4, 8]

    def literals(self, data):
        """(literals, position behind)"""
        kind, form = data[0] & 3, data[0] >> 2 & 3
        if kind < 2:  # raw, one byte repeated
            bits, size = ((3, 1), (4, 2), (3, 1), (4, 3))[form]
            count = int.from_bytes(data[:size], "little") >> bits
            if kind == 0:
                return data[size:size + count], size + count
            return data[size:size + 1] * count, size + 1
        width, size = ((10, 3), (10, 3), (14, 4), (18, 5))[form]
        head = int.from_bytes(data[:size], "little") >> 4
        count, packed = head & ((1 << width) - 1), head >> width
        end = size + packed
        if end > len(data):
            raise BadFrame("literals end too early")
        at = size
        if kind == 2:
            self.tree, at = _huffman(data[:end], at)
        if self.tree is None:
            raise BadFrame("literals without a table")
        if form == 0:
            return _huffman_stream(self.tree, data[at:end], count), end
        sizes = [int.from_bytes(data[at + 2 * i:at + 2 * i + 2], "little") for i in range(3)]
        at, part, out = at + 6, (count + 3) // 4, bytearray()
        for i in range(4):
            stop = end if i == 3 else at + sizes[i]
            out += _huffman_stream(self.tree, data[at:stop], count - 3 * part if i == 3 else part)
            at = stop
        return out, end

    def table(self, which, mode, data, at):
        most_log, most_symbol, log, counts = _KINDS[which]
        if mode == 0:
            self.tables[which] = _fse_table(log, counts)
        elif mode == 1:
            self.tables[which] = (0, [(data[at], 0, 0)])
            at += 1
        elif mode == 2:
            log, counts, at = _fse_counts(data, at, most_log, most_symbol)
            self.tables[which] = _fse_table(log, counts)
        elif self.tables[which] is None:
            raise BadFrame("a table is to be kept that is not there")
        return at

    def offset(self, value, length):
        recent = self.recent
        if value > 3:
            self.recent = [value - 3] + recent[:2]
            return value - 3
        which = value - 1 + (1 if length == 0 else 0)
        if which == 3:
            chosen = recent[0] - 1
            self.recent = [chosen] + recent[:2]
        else:
            chosen = recent[which]
            self.recent = [chosen] + recent[:which] + recent[which + 1:]
        return chosen

    def copy(self, offset, count):
        out, begin = self.out, len(self.out) - offset
        if offset < 1 or begin < 0 or len(out) + count > self.most:
            raise BadFrame("a match points nowhere")
        if offset >= count:
            out += out[begin:begin + count]
        else:
            piece = bytes(out[begin:])
            out += (piece * (count // offset + 1))[:count]

    def block(self, data):
        literals, at = self.literals(data)
        count = data[at]
        at += 1
        if count >= 255:
            count, at = int.from_bytes(data[at:at + 2], "little") + 0x7F00, at + 2
        elif count >= 128:
            count, at = ((count - 128) << 8) + data[at], at + 1
        if count == 0:
            self.out += literals
            return
        modes = data[at]
        at += 1
        for which in range(3):
            at = self.table(which, modes >> (6 - 2 * which) & 3, data, at)
        bits, used = _Bits(data[at:]), 0
        (log_l, table_l), (log_o, table_o), (log_m, table_m) = self.tables
        state_l, state_o, state_m = bits.take(log_l), bits.take(log_o), bits.take(log_m)
        for i in range(count):
            code_l, bits_l, base_l = table_l[state_l]
            code_o, bits_o, base_o = table_o[state_o]
            code_m, bits_m, base_m = table_m[state_m]
            value = (1 << code_o) + bits.take(code_o)
            base, extra = _MATCHES[code_m]
            match = base + bits.take(extra)
            base, extra = _LENGTHS[code_l]
            length = base + bits.take(extra)
            if i + 1 < count:
                state_l = base_l + bits.take(bits_l)
                state_m = base_m + bits.take(bits_m)
                state_o = base_o + bits.take(bits_o)
            if used + length > len(literals):
                raise BadFrame("more literals are used than there are")
            self.out += literals[used:used + length]
            used += length
            self.copy(self.offset(value, length), match)
        if bits.left != 0:
            raise BadFrame("sequences do not fill their stream")
        self.out += literals[used:]


def decompress(data, most):
    """One frame's content, of at most `most` bytes. BadFrame: it is none, or damaged."""
    data = bytes(data)
    try:
        return _decompress(data, most)
    except IndexError:
        raise BadFrame("the frame ends too early")


def _decompress(data, most):
    if data[:4] != b"\x28\xb5\x2f\xfd":
        raise BadFrame("no zstd frame")
    flags = data[4]
    single, sizes = flags >> 5 & 1, (0, 2, 4, 8)
    at = 5 + (0 if single else 1)
    if flags & 3:
        raise BadFrame("dictionaries are not supported")
    wide = sizes[flags >> 6] or single
    size = int.from_bytes(data[at:at + wide], "little") + (256 if wide == 2 else 0)
    at += wide
    if not wide or size > most:
        raise BadFrame("the frame is too large, or does not say how large it is")
    frame, last = _Frame(size), False
    while not last:
        head = int.from_bytes(data[at:at + 3], "little")
        if at + 3 > len(data):
            raise BadFrame("the frame ends too early")
        last, kind, count = bool(head & 1), head >> 1 & 3, head >> 3
        at += 3
        if kind == 1:
            if len(frame.out) + count > size:
                raise BadFrame("a block is too large")
            frame.out += data[at:at + 1] * count
            at += 1
            continue
        if at + count > len(data) or kind == 3 or (kind == 0 and len(frame.out) + count > size):
            raise BadFrame("the frame ends too early")
        if kind == 0:
            frame.out += data[at:at + count]
        else:
            frame.block(data[at:at + count])
        at += count
    if len(frame.out) != size:
        raise BadFrame("the frame is not as long as it says")
    return bytes(frame.out)
