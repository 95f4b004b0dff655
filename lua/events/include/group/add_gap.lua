-- add_gap(own, from, to, lost): note that a group has lost events between two ids. All that it loses until it acknowledges the gap is one gap.
-- lost: how many; 0 if that is not known.
local function add_gap(own, from, to, lost)
  own.gap, own.lost, own.changed = own.gap + 1, own.lost + lost, true
  if own.gap_from == '' then
    own.gap_from, own.gap_to, own.gap_lost, own.fresh_gap = from, to, lost, true
    return
  end
  if is_before(from, own.gap_from) then own.gap_from = from end
  if is_before(own.gap_to, to) then own.gap_to = to end
  own.gap_lost = lost > 0 and own.gap_lost > 0 and own.gap_lost + lost or 0
end
