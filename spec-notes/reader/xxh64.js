// A 64-bit number is two halves of 32 bits, H and L: several times as fast as BigInt.

const [P1, P2, P3, P4, P5] = [
  [0x9e3779b1, 0x85ebca87], [0xc2b2ae3d, 0x27d4eb4f], [0x165667b1, 0x9e3779f9],
  [0x85ebca77, 0xc2b2ae63], [0x27d4eb2f, 0x165667c5],
].map(([h, l]) => [h | 0, l | 0]);

let H = 0, L = 0;

function plus(h, l) {
  const sum = (L >>> 0) + (l >>> 0);
  H = (H + h + (sum > 0xffffffff ? 1 : 0)) | 0;
  L = sum | 0;
}
function times([bh, bl]) { // in parts of 16 bits
  const al = L & 0xffff, ah = L >>> 16, cl = bl & 0xffff, ch = bl >>> 16;
  const low = Math.imul(al, cl), one = Math.imul(ah, cl) + (low >>> 16), two = Math.imul(al, ch);
  const middle = (one & 0xffff) + (two & 0xffff);
  const carried = (one >>> 16) + (two >>> 16) + (middle >>> 16);
  H = (Math.imul(ah, ch) + carried + Math.imul(H, bl) + Math.imul(L, bh)) | 0;
  L = (middle << 16) | (low & 0xffff);
}
function rotate(n) { // to the left, by 1 to 31 bits
  const h = (H << n) | (L >>> (32 - n));
  L = (L << n) | (H >>> (32 - n));
  H = h;
}
function fold(n) { // x ^= x >>> n
  if (n > 31) L ^= H >>> (n - 32);
  else { L ^= (L >>> n) | (H << (32 - n)); H ^= H >>> n; }
}

/** The low 32 bits of XXH64, seed 0 */
export function xxh64Low(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length), size = bytes.length;
  const word = (place) => { L = view.getInt32(place, true); H = view.getInt32(place + 4, true); };
  let at = 0, h, l;
  if (size >= 32) {
    const hs = new Int32Array(4), ls = new Int32Array(4); // four accumulators: P1 + P2, P2, 0, -P1
    [H, L] = P1; plus(...P2); hs[0] = H; ls[0] = L;
    [hs[1], ls[1]] = P2;
    H = L = 0; plus(~P1[0], ~P1[1]); plus(0, 1); hs[3] = H; ls[3] = L;
    for (; at + 32 <= size; at += 32)
      for (let k = 0; k < 4; k++) {
        word(at + 8 * k);
        times(P2); plus(hs[k], ls[k]); rotate(31); times(P1);
        hs[k] = H; ls[k] = L;
      }
    h = l = 0;
    [1, 7, 12, 18].forEach((n, k) => { H = hs[k]; L = ls[k]; rotate(n); plus(h, l); h = H; l = L; });
    for (let k = 0; k < 4; k++) {
      H = hs[k]; L = ls[k]; times(P2); rotate(31); times(P1);
      H ^= h; L ^= l; times(P1); plus(...P4); h = H; l = L;
    }
  } else [H, L] = P5;
  plus(Math.floor(size / 2 ** 32), size | 0);
  for (; at + 8 <= size; at += 8) {
    h = H; l = L;
    word(at); times(P2); rotate(31); times(P1);
    H ^= h; L ^= l; rotate(27); times(P1); plus(...P4);
  }
  if (at + 4 <= size) {
    h = H; l = L;
    L = view.getInt32(at, true); H = 0; times(P1);
    H ^= h; L ^= l; rotate(23); times(P2); plus(...P3);
    at += 4;
  }
  for (; at < size; at++) {
    h = H; l = L;
    L = bytes[at]; H = 0; times(P5);
    H ^= h; L ^= l; rotate(11); times(P1);
  }
  fold(33); times(P2); fold(29); times(P3); fold(32);
  return L >>> 0;
}
