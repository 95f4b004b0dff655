-- answer_of(ctx, word): the answer of a call, from what is remembered of it: `full:<names>`; `conflict:` with m (matches) or d (differs) and
-- the version of each name; `ok:<rev>:` with s (set), r (removed) or m (missing) for each name.
-- EARLY
local function answer_of(ctx, word)
  local status, rest = string.match(word, '^(%a+):(.*)$')
  local items = {}
  if status == 'full' then return { 'full', ctx.now, tonumber(rest) } end
  if status == 'conflict' then
    for letter, version in string.gmatch(rest, '(%a)(%d+)') do
      items[#items + 1] = { letter == 'm' and 'matches' or 'differs', tonumber(version) }
    end
    return { 'conflict', ctx.now, items }
  end
  local rev_text, letters = string.match(rest, '^(%d+):(%a+)$')
  local rev = tonumber(rev_text)
  for letter in string.gmatch(letters, '%a') do
    items[#items + 1] = letter == 's' and { 'set', rev } or letter == 'r' and { 'removed', rev } or { 'missing' }
  end
  return { 'ok', ctx.now, rev, items }
end
