package io.rackwise.assignor;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Classes of partitions: those with the same subscribers and local racks are counted, not listed.
 *
 * <p>Partitions of one cost class have the same audience, which is the set of lists that contain
 * their topic, and cross in the same racks. Partitions of one type have the same owner too.
 *
 * <pre>
 * partition  replicas  owner   crosses in a, b, no rack   cost class  type
 * t-0        a b       m1      - - x                      0           0
 * t-1        b a       m1      - - x                      0           0
 * t-2        b a       m2      - - x                      0           1
 * t-3        a         -       - x x                      1           2
 * </pre>
 *
 * <p>Costs. A move costs 1; a crossing costs 1 more than all owned partitions together.
 */
final class UnitClasses {
    /** [audiences][lists], whether the members of a list may have partitions of an audience. */
    final boolean[][] audiences;
    /** [classes], the audience of each cost class. */
    final int[] audienceOf;
    /** [classes][racks], whether a member in the rack crosses. */
    final boolean[][] crosses;
    /** [partitions], the cost class of each partition. */
    final int[] classOf;
    /** [classes], the partitions of each cost class. */
    final int[] sizes;
    /** [types], the cost class of each type; types are in order of class and owner. */
    final int[] classOfType;
    /** [types], the owner, or {@code NOBODY}. */
    final int[] ownerOfType;
    /** [types], the partitions of each type. */
    final int[] sizesOfTypes;
    /** [partitions], the type of each partition. */
    final int[] typeOf;
    /** The cost of a crossing. */
    final long crossing;

    private record CostClass(int audience, boolean[] crosses) {
        private static final Comparator<CostClass> ORDER =
                Comparator.comparingInt(CostClass::audience)
                        .thenComparing(CostClass::crosses, Arrays::compare);
    }

    private UnitClasses(NumberedGroup group) {
        int[] audienceOfTopic = new int[group.topics.length];
        audiences = numberAudiences(group, audienceOfTopic);
        classOf = new int[group.partitions()];
        List<CostClass> found = numberClasses(group, audienceOfTopic);
        audienceOf = new int[found.size()];
        crosses = new boolean[found.size()][];
        sizes = new int[found.size()];
        for (int each = 0; each < sizes.length; each++) {
            audienceOf[each] = found.get(each).audience();
            crosses[each] = found.get(each).crosses();
        }
        int owned = 0;
        for (int partition = 0; partition < classOf.length; partition++) {
            sizes[classOf[partition]]++;
            owned += group.ownerOf[partition] == NumberedGroup.NOBODY ? 0 : 1;
        }
        crossing = 1L + owned;
        // Sorted by owner, then stably by class; unowned partitions come first within a class.
        int[] byOwner = stableOrder(shifted(group.ownerOf), group.ids.length + 1);
        int[] order = stableOrder(byOwner, classOf, sizes.length);
        typeOf = new int[classOf.length];
        int[] classes = new int[classOf.length];
        int[] owners = new int[classOf.length];
        int[] counts = new int[classOf.length];
        int types = 0;
        for (int partition : order) {
            int last = types - 1;
            if (types == 0 || classes[last] != classOf[partition]
                    || owners[last] != group.ownerOf[partition]) {
                classes[types] = classOf[partition];
                owners[types] = group.ownerOf[partition];
                last = types++;
            }
            counts[last]++;
            typeOf[partition] = last;
        }
        classOfType = Arrays.copyOf(classes, types);
        ownerOfType = Arrays.copyOf(owners, types);
        sizesOfTypes = Arrays.copyOf(counts, types);
    }

    static UnitClasses of(NumberedGroup group) {
        return new UnitClasses(group);
    }

    /** The distinct audiences, ascending as texts of bits; writes the audience of each topic. */
    private static boolean[][] numberAudiences(NumberedGroup group, int[] audienceOfTopic) {
        Map<BitSet, Integer> numbers = new HashMap<>();
        List<BitSet> found = new ArrayList<>();
        for (int topic = 0; topic < audienceOfTopic.length; topic++) {
            BitSet lists = new BitSet(group.lists.length);
            for (int list = 0; list < group.lists.length; list++) {
                lists.set(list, group.lists[list].get(topic));
            }
            Integer number = numbers.putIfAbsent(lists, found.size());
            if (number == null) {
                number = found.size();
                found.add(lists);
            }
            audienceOfTopic[topic] = number;
        }
        boolean[][] unsorted = new boolean[found.size()][group.lists.length];
        for (int audience = 0; audience < unsorted.length; audience++) {
            BitSet lists = found.get(audience);
            for (int list = 0; list < group.lists.length; list++) {
                unsorted[audience][list] = lists.get(list);
            }
        }
        boolean[][] sorted = unsorted.clone();
        Arrays.sort(sorted, Arrays::compare);
        int[] placeOf = new int[sorted.length];
        for (int audience = 0; audience < sorted.length; audience++) {
            placeOf[audience] = Arrays.binarySearch(sorted, unsorted[audience], Arrays::compare);
        }
        for (int topic = 0; topic < audienceOfTopic.length; topic++) {
            audienceOfTopic[topic] = placeOf[audienceOfTopic[topic]];
        }
        return sorted;
    }

    /** The cost classes in order; writes the class of each partition. */
    private List<CostClass> numberClasses(NumberedGroup group, int[] audienceOfTopic) {
        int sets = group.rackSets.size();
        // [audiences * sets], a kind is an audience and a set of racks; several may be one class
        boolean[] isPresent = new boolean[audiences.length * sets];
        for (int topic = 0; topic < group.topics.length; topic++) {
            int first = audienceOfTopic[topic] * sets;
            for (int p = group.starts[topic]; p < group.starts[topic + 1]; p++) {
                isPresent[first + group.setOf[p]] = true;
            }
        }
        List<CostClass> found = new ArrayList<>();
        for (int kind = 0; kind < isPresent.length; kind++) {
            if (isPresent[kind]) {
                found.add(costClass(group, kind / sets, kind % sets));
            }
        }
        found.sort(CostClass.ORDER);
        List<CostClass> distinct = new ArrayList<>();
        for (CostClass each : found) {
            int last = distinct.size() - 1;
            if (last < 0 || CostClass.ORDER.compare(distinct.get(last), each) != 0) {
                distinct.add(each);
            }
        }
        int[] classOfKind = new int[isPresent.length];
        for (int kind = 0; kind < isPresent.length; kind++) {
            if (isPresent[kind]) {
                CostClass each = costClass(group, kind / sets, kind % sets);
                classOfKind[kind] =
                        java.util.Collections.binarySearch(distinct, each, CostClass.ORDER);
            }
        }
        for (int topic = 0; topic < group.topics.length; topic++) {
            int first = audienceOfTopic[topic] * sets;
            for (int p = group.starts[topic]; p < group.starts[topic + 1]; p++) {
                classOf[p] = classOfKind[first + group.setOf[p]];
            }
        }
        return distinct;
    }

    private static CostClass costClass(NumberedGroup group, int audience, int set) {
        boolean[] crosses = new boolean[group.racks.length];
        for (int rack = 0; rack < crosses.length; rack++) {
            String text = group.racks[rack];
            crosses[rack] = text.isEmpty() || !group.rackSets.get(set).contains(text);
        }
        return new CostClass(audience, crosses);
    }

    private static int[] shifted(int[] owners) {
        int[] keys = new int[owners.length];
        Arrays.setAll(keys, each -> owners[each] - NumberedGroup.NOBODY);
        return keys;
    }

    private static int[] stableOrder(int[] keys, int bound) {
        int[] identity = new int[keys.length];
        Arrays.setAll(identity, each -> each);
        return stableOrder(identity, keys, bound);
    }

    /** The elements of {@code order}, stably sorted by their keys, which are in 0..bound - 1. */
    static int[] stableOrder(int[] order, int[] keys, int bound) {
        int[] ends = new int[bound + 1];
        for (int each : order) {
            ends[keys[each] + 1]++;
        }
        for (int key = 0; key < bound; key++) {
            ends[key + 1] += ends[key];
        }
        int[] sorted = new int[order.length];
        for (int each : order) {
            sorted[ends[keys[each]]++] = each;
        }
        return sorted;
    }
}
