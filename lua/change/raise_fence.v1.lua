-- change.raise_fence.v1: after a restore of old data, give no fence again that was given out since. `least` is at least the
-- last fence that was; the next one is above it. A fence that is higher stays, and of a change domain that does not exist
-- nothing is stored. `fence` is the last fence now, 0 if there is none.
--
-- ARGV   least     int 1..99999999999999
-- ARGV   now_ms    int 0..       ?=0
-- RETURN raised    now_ms:int fence:int
-- RETURN kept      now_ms:int fence:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   operate
-- REPLAY state
-- FLAGS  allow-oom
-- COST   3 commands; at most 3 commands, 48 steps

local ctx, refused = open()
if refused then return refused end
return raise_fence(ctx, least)
