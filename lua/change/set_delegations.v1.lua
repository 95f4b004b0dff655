-- change.set_delegations.v1: store or remove delegations of a person, at most 16: for a time, and for changes that fit all that is given:
-- one of `types`, of `tags`, of `resources`, a risk above and below. Requests go to the first that fits, by the bytes of their names, and
-- on from there if it has `cascade`. If an agent stores its own delegation, it is `for` the principal, who is behind the answers. It holds for open requests at once, and ends at once. This call moves at most 100 of them to another
-- inbox, `sweep` the others: until then, `inbox` and `respond` look at the delegations themselves.
--
-- ARGV   rid          id
-- ARGV   user         label
-- ARGV   actor        label            ?=
-- ARGV   caller       label            ?=
-- ARGV   principal    label            ?=
-- ARGV   kind         enum person|agent ?=person
-- ARGV   source       bytes 0..200     ?=
-- ARGV   trace        bytes 0..128     ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- ITEM   name         name
-- PAIR   remove       bool             ?=0
-- PAIR   to           label
-- PAIR   from_ms      int 0..9000000000000 ?=0
-- PAIR   until_ms     int 1..9000000000000
-- PAIR   types        labels 1..16
-- PAIR   tags         labels 1..16
-- PAIR   resources    ids 1..16
-- PAIR   risk_above   int 0..100
-- PAIR   risk_below   int 0..101
-- PAIR   cascade      bool             ?=0
-- PAIR   inactive     bool             ?=0
-- GROUP  item         1..16
-- RETURN ok           now_ms:int items:list(item)
-- EACH   item         stored
-- EACH   item         same
-- EACH   item         removed
-- EACH   item         unknown
-- EACH   item         cycle
-- EACH   item         full
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  delegation.put delegation.removed change.delegated change.outdated change.reviewing change.reminded change.escalated
-- EVENT  change.rejected change.approved change.released change.failed change.cancelled
-- ROLE   review
-- REPLAY rid
-- COST   7 commands and 4 for each delegation, 15 for each request that moves; at most 6,000 commands, 1,100,000 steps

local ctx, refused = open()
if refused then return refused end
if #user > 195 then return refuse('user', user, 'at most 195 characters, as in user:<id>') end
local person
person, refused = person_behind()
if refused then return refused end
refused = refuse_hidden('user', user)
if refused then return refused end
for i = 1, item_count do  -- at most 16: items
  refused = check_delegation(item_pairs[i])
  if refused then return refused end
end
local before = replayed_reply(ctx, 'set_delegations')
if before then return { 'ok', ctx.now, before } end
if not ctx.exists then create_base() end
ctx.made = true
local answers, key = {}, delegations .. user
for i, name in ipairs(item_name) do answers[i] = set_delegation(ctx, key, name, item_pairs[i], person) end  -- at most 16: items
move_delegated(ctx, 100)
note_reply(ctx, 'set_delegations', answers)
return { 'ok', ctx.now, answers }
