-- note_trimmed(own, stream): note a gap if events were trimmed that the group has not read, or not acknowledged. Events are counted from the
-- first that was ever added, so the difference says how many were not read.
local function note_trimmed(own, stream)
  local after, anew = stream.length > 0 and stream.first or stream.last, own.seen > stream.added
  lose_pending(own, not anew and stream.length > 0 and stream.first)
  if anew then  -- the stream was deleted, and has begun anew
    add_gap(own, own.last, after, 0)
    own.last, own.seen = '0-0', stream.removed
  elseif stream.removed > own.seen then
    add_gap(own, own.last, after, stream.removed - own.seen)
    own.seen = stream.removed
  end
end
