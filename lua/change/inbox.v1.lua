-- change.inbox.v1: a page of the requests that a user can answer now, the most urgent first: those to the user and to these groups.
-- Requests that the user cannot answer are left out: of changes that it has written, of those that its person has answered already or is
-- behind another request of, of reviews that are over, and of those without agents, if it has another `principal`. Delegations count as of
-- now: of those that have begun or changed and were not moved yet, the inboxes of at most 16 persons are read. A call looks at 200 requests,
-- fewer where the conditions of delegations take long to compare, so a page may be shorter than `limit`, and even empty, with a cursor.
-- `pending`: how many requests ask the user, groups not counted, as of the last move.
--
-- ARGV   user     label
-- ARGV   principal label        ?=
-- ARGV   groups   labels 0..32  ?=
-- ARGV   cursor   bytes 0..300  ?=
-- ARGV   limit    int 1..100    ?=20
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int cursor:text pending:int items:list(item) stats:pairs(userstats)
-- EACH   item     request id:id slot:int rev:int digest:text due_ms:int summary:pairs(summary)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 commands; at most 1,200 commands, 1,400,000 steps

local ctx, refused = open()
if refused then return refused end
if #user > 195 then return refuse('user', user, 'at most 195 characters, as in user:<id>') end
refused = refuse_hidden('user', user) or refuse_hidden('principal', principal)
if refused then return refused end
local sets, names = { inboxes .. 'user:' .. user }, { ['user:' .. user] = true }
for _, group in ipairs(groups) do  -- at most 32: groups
  if #group > 194 then return refuse('groups', group, 'at most 194 characters each, as in group:<name>') end
  if not names['group:' .. group] then sets[#sets + 1] = inboxes .. 'group:' .. group end
  names['group:' .. group] = true
end
if ctx.settings.delegations then add_late_sets(ctx, sets, user) end
local page, more = read_inboxes(sets, cursor, 200)
if not page then return refuse('cursor', cursor, 'empty, or what the page before answered') end
local items, last = {}, 0
for i = 1, #page, 2 do
  if #items == limit or looked_enough(ctx) then break end
  items[#items + 1] = shown_entry(ctx, page[i], names, principal ~= '' and principal or user)
  last = i
end
more = more or last + 1 < #page
return { 'ok', ctx.now, more and page[last + 1] .. ' ' .. page[last] or '', redis.call('ZCARD', inboxes .. 'user:' .. user), items,
  redis.call('HGETALL', userstats .. user) }  -- at most 150: two for each of 31 days, 33 bounds, three totals
