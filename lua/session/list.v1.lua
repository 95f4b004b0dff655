-- session.list.v1: a page of valid sessions in the order of their ends: those of a user, or without `user` all of the partition. Also
-- `not_before_us` of the user, 0 if nothing is stored, and `authz_ver`: read them before a login is checked, and pass them to `create`.
-- `cursor` is what the last page answered, empty to begin; an empty cursor in the answer means that there is no more.
--
-- ARGV   user     label         ?=
-- ARGV   cursor   bytes 0..300  ?=
-- ARGV   limit    int 1..100    ?=20
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int not_before_us:int authz_ver:int cursor:text items:list(item)
-- EACH   item     session handle:text user:label entry:pairs(entry)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 commands and 2 for each session; at most 230 commands, 2,600 steps

local ctx, refused = open()
if refused then return refused end
local set, start = user ~= '' and by_user .. user or all, 0
if cursor ~= '' then
  local score, id = string.match(cursor, '^(%d+) (%S+)$')
  if not score then return refuse('cursor', cursor, 'empty, or what the page before answered') end
  start = rank_after(set, score, id)
end
local known = user ~= '' and read_user(ctx, user) or { authz_ver = 0 }
local page = redis.call('ZRANGE', set, start, start + limit - 1, 'WITHSCORES')
local items = {}
for i = 1, #page, 2 do
  local row = redis.call('HMGET', sessions .. page[i], 'user', 'born_us', 'active_ms', 'idle_ms', 'ends_ms', 'created_ms', 'name', 'address',
    'agent')
  local owner = user ~= '' and known or row[1] and read_user(ctx, row[1])
  if owner and owner.exists and is_valid(ctx, owner.not_before, row) then
    local entry = { 'active_ms', row[3], 'idle_ms', row[4], 'ends_ms', row[5], 'created_ms', row[6] }
    for j, field in ipairs({ 'name', 'address', 'agent' }) do
      if row[6 + j] then
        entry[#entry + 1] = field
        entry[#entry + 1] = row[6 + j]
      end
    end
    items[#items + 1] = { 'session', handle_of(page[i]), row[1], entry }
  end
end
local last = #page == 2 * limit and page[#page] .. ' ' .. page[#page - 1] or ''
return { 'ok', ctx.now, known.exists and known.not_before or 0, known.authz_ver, last, items }
